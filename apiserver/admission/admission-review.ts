/** AdmissionReview of admission.k8s.io/v1 and v1beta1. Upstream: webhook/request/admissionreview.go. */

import { apiVersionOf } from '../../shared/api/api-version.ts'
import { toJson } from '../../shared/api/json/exact-json.ts'
import type { ResourceDefinition } from '../kind/resource-definition.ts'
import type { AdmissionAttributes, OperationOptions } from '../registry/admission-plugin.ts'
import { seenObjects } from './seen-object.ts'
import { namespaceOf } from './webhooks/selectors.ts'

const reviewGroup = 'admission.k8s.io'

const groupVersionKind = ({ group, version, kind }: Pick<ResourceDefinition, 'group' | 'version' | 'kind'>) => ({
  group,
  version,
  kind,
})
const groupVersionResource = ({ group, version, plural }: ResourceDefinition) => ({ group, version, resource: plural })

const withVersion = ({ kind, ...options }: OperationOptions) => ({ kind, apiVersion: 'meta.k8s.io/v1', ...options })

/**
 * Describes a request, without its objects, to a webhook or a CEL expression. `matched` is the version of the resource
 * that the webhook or policy registered for.
 */
export function requestOf(attributes: AdmissionAttributes, matched: ResourceDefinition, uid: string) {
  const { definition, subresource, view, name, operation, user, dryRun, options } = attributes
  const namespace = namespaceOf(attributes)
  return {
    uid,
    kind: groupVersionKind(view ?? matched),
    resource: groupVersionResource(matched),
    ...(subresource && { subResource: subresource }),
    requestKind: groupVersionKind(view ?? definition),
    requestResource: groupVersionResource(definition),
    ...(subresource && { requestSubResource: subresource }),
    ...(name && { name }),
    ...(namespace && { namespace }),
    operation,
    userInfo: {
      username: user.name,
      ...(user.uid && { uid: user.uid }),
      groups: user.groups,
      ...(user.extra && { extra: user.extra }),
    },
    dryRun,
    options: options ? withVersion(options) : null,
  }
}

/** Returns the AdmissionReview that is sent to a webhook, as JSON. */
export async function reviewRequest(
  attributes: AdmissionAttributes,
  { matched, uid, version }: { matched: ResourceDefinition; uid: string; version: string },
): Promise<string> {
  const { object, oldObject } = await seenObjects(attributes, matched)
  const { dryRun, options, ...request } = requestOf(attributes, matched, uid)
  return toJson({
    kind: 'AdmissionReview',
    apiVersion: `${reviewGroup}/${version}`,
    request: { ...request, object, oldObject, dryRun, options },
  })
}

/** Holds a webhook's decision. */
export interface ReviewResponse {
  allowed: boolean
  status?: { status?: string; code?: number; reason?: string; message?: string; details?: object }
  /** The JSON text of the patch; undefined if the webhook sent no patch. */
  patch?: string
  patchType?: string
  auditAnnotations: Record<string, string>
  warnings: string[]
}

/** Reads a webhook's answer. Throws an Error in upstream's words if the answer is not a valid one to this request. */
export function readReview(
  answer: Record<string, unknown>,
  { uid, version, mutating }: { uid: string; version: string; mutating: boolean },
): ReviewResponse {
  const response = answer.response as RawResponse | undefined | null
  if (!response) throw new Error('webhook response was absent')
  if (version === 'v1') verifyV1(answer, response, { uid, mutating })
  const { allowed, status, patch, patchType, auditAnnotations, warnings } = response
  return {
    allowed: allowed === true,
    ...(status && { status }),
    // The older version knows one type only, and does not ask for its name.
    ...(mutating &&
      patch && {
        patch: Buffer.from(patch, 'base64').toString('utf8'),
        patchType: version === 'v1' ? (patchType ?? '') : 'JSONPatch',
      }),
    auditAnnotations: auditAnnotations ?? {},
    warnings: warnings ?? [],
  }
}

interface RawResponse {
  uid?: string
  allowed?: boolean
  status?: ReviewResponse['status'] | null
  patch?: string | null
  patchType?: string | null
  auditAnnotations?: Record<string, string> | null
  warnings?: string[] | null
}

function verifyV1(
  { apiVersion, kind }: Record<string, unknown>,
  { uid: answered = '', patch, patchType }: RawResponse,
  { uid, mutating }: { uid: string; mutating: boolean },
): void {
  if (answered !== uid) throw new Error(`expected response.uid=${JSON.stringify(uid)}, got ${toJson(answered)}`)
  const expected = apiVersionOf({ group: reviewGroup, version: 'v1' })
  if (apiVersion !== expected || kind !== 'AdmissionReview')
    throw new Error(`expected webhook response of ${expected}, Kind=AdmissionReview, got ${apiVersion}, Kind=${kind}`)
  const hasType = patchType !== undefined && patchType !== null
  if (!mutating) {
    if (patch) throw new Error('validating webhook may not return response.patch')
    if (hasType) throw new Error('validating webhook may not return response.patchType')
    return
  }
  if (patch && !hasType) throw new Error('webhook returned response.patch but not response.patchType')
  if (!patch && hasType) throw new Error('webhook returned response.patchType but not response.patch')
  if (patchType === '') throw new Error('webhook returned invalid response.patchType of ""')
}
