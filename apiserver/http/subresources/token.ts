import { randomUUID } from 'node:crypto'
import { apiVersionOf } from '../../../shared/api/api-version.ts'
import { badRequest, conflict, notFound } from '../../../shared/api/status/status-errors.ts'
import type { KubeObject, Pod } from '../../../shared/api/types.ts'
import { toTime } from '../../../shared/clock/timestamp.ts'
import type { Reference, TokenSubject } from '../../auth/service-account/claims.ts'
import type { ServiceAccountTokens, TokenOptions } from '../../auth/service-account/service-account-tokens.ts'
import { trackFields } from '../../kind/field-manager.ts'
import type { Lookup } from '../../kind/lookup.ts'
import type { ResourceDefinition } from '../../kind/resource-definition.ts'
import type { ObjectScope, WriteOptions } from '../../registry/write-context.ts'
import { otherNamespace } from '../../registry/writes/before-create.ts'
import { invalid, invalidObject } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import type { ApiContext } from '../api-context.ts'
import { readObject } from '../body/request-object.ts'
import { negotiateWithoutTable } from '../encode/negotiation.ts'
import { encodeUnstored } from '../encode/object-encoder.ts'
import type { WriteHandler } from '../handler.ts'
import { parseWriteOptions } from '../options/write-options.ts'
import { admitUnstored } from './admit.ts'

interface BoundObjectReference {
  kind?: string
  apiVersion?: string
  name?: string
  uid?: string
}
export interface TokenRequest extends KubeObject {
  spec: { audiences?: string[] | null; expirationSeconds?: number; boundObjectRef?: BoundObjectReference | null }
  status: { token: string; expirationTimestamp: string | null }
}

const definition: ResourceDefinition = {
  group: 'authentication.k8s.io',
  version: 'v1',
  kind: 'TokenRequest',
  plural: 'tokenrequests',
  singular: 'tokenrequest',
  namespaced: true,
  schema: 'io.k8s.api.authentication.v1.TokenRequest',
  strategy: {},
  example: { metadata: {}, spec: {} },
}

const defaultSeconds = 3600
const minSeconds = 600
const maxSeconds = 2 ** 32
/** Pods ask for this time. Their tokens live for a year, so that programs that never read them again keep working. */
const podSeconds = 3607
const extendedSeconds = 365 * 24 * 3600

export const requestToken: WriteHandler = async (api, { exchange, definition: accounts, target }) => {
  const { request, user } = exchange
  const { namespace = '', name = '' } = target
  const negotiated = negotiateWithoutTable(request.headers.accept)
  const options = parseWriteOptions(exchange, 'CreateOptions')
  const raw = { bytes: await exchange.smallBody(), contentType: request.headers['content-type'] }
  const object = (await readObject(definition, raw, options)) as TokenRequest
  exchange.audit?.requested({ kind: definition.kind, apiVersion: apiVersionOf(definition) }, withoutAnswer(object))
  if (object.metadata?.namespace && object.metadata.namespace !== namespace) throw otherNamespace()
  const time = toTime(api.clock.now())
  trackFields(definition, undefined, object, { manager: options.fieldManager, subresource: 'token', time })
  const answer = await makeToken(api, object, { definition: accounts, namespace, name, user }, options)
  return { status: 201, json: encodeUnstored(definition, answer, negotiated), negotiated }
}

/** Returns the request as a real server shows it. */
const withoutAnswer = (object: TokenRequest): TokenRequest => ({
  ...object,
  spec: { boundObjectRef: null, ...object.spec },
  status: { token: '', expirationTimestamp: null },
})

/** Makes a token of a service account. Upstream: pkg/registry/core/serviceaccount/storage/token.go. */
export async function makeToken(
  { registry, clock, tokens }: Pick<ApiContext, 'registry' | 'clock' | 'tokens'>,
  object: TokenRequest,
  { definition: accounts, namespace = '', name = '', user }: ObjectScope,
  options: WriteOptions,
): Promise<TokenRequest> {
  const scope = { definition: accounts, namespace, name, user, subresource: 'token' }
  await admitUnstored(registry, scope, { kind: definition, body: object, options })
  const { metadata = {} } = object
  const time = toTime(clock.now())
  if (metadata.name && metadata.name !== name) throw mismatch(name, 'name', metadata.name)
  if (metadata.namespace && metadata.namespace !== namespace) throw mismatch(name, 'namespace', metadata.namespace)
  registry.get({ definition: accounts, namespace, name, user })
  const account = registry.lookup(accounts, namespace, name)!
  if (metadata.uid && metadata.uid !== account.metadata.uid) throw otherUid(name, metadata.uid, account.metadata.uid)
  const seconds = object.spec.expirationSeconds ?? defaultSeconds
  validateSeconds(seconds)
  const audiences = object.spec.audiences?.length ? object.spec.audiences : [tokens.issuer()]
  const subject: TokenSubject = {
    namespace,
    serviceaccount: referenceTo(account),
    ...boundTo(object, { namespace, name, lookup: registry.lookup }),
  }
  const jti = randomUUID()
  const token = await tokens.issue(subject, { ...lifetime(tokens, { audiences, seconds }, subject), jti })
  options.annotate?.('authentication.kubernetes.io/issued-credential-id', `JTI=${jti}`)
  const { uid } = account.metadata
  return {
    kind: definition.kind,
    apiVersion: `${definition.group}/${definition.version}`,
    metadata: { name, namespace, uid, creationTimestamp: time, managedFields: metadata.managedFields },
    spec: { audiences, expirationSeconds: seconds, boundObjectRef: object.spec.boundObjectRef ?? null },
    status: { token, expirationTimestamp: toTime(clock.now() + seconds * 1000) },
  }
}

const mismatch = (name: string, field: 'name' | 'namespace', value: string) =>
  invalidObject(definition, name, [
    invalid(`metadata.${field}`, value, `must match the service account ${field} if specified`),
  ])

const otherUid = (name: string, asked: string, found: string | undefined) =>
  conflict(
    { group: definition.group, plural: definition.kind },
    name,
    `the UID in the token request (${asked}) does not match the UID of the service account (${found})`,
  )

function validateSeconds(seconds: number): void {
  const errors: FieldErrors = []
  const at = 'spec.expirationSeconds'
  if (seconds < minSeconds) errors.push(invalid(at, seconds, 'may not specify a duration less than 10 minutes'))
  if (seconds > maxSeconds) errors.push(invalid(at, seconds, 'may not specify a duration larger than 2^32 seconds'))
  if (errors.length > 0) throw invalidObject(definition, '', errors)
}

function lifetime(
  tokens: ServiceAccountTokens,
  { audiences, seconds }: TokenOptions,
  { pod }: TokenSubject,
): TokenOptions {
  return pod && seconds === podSeconds && tokens.isForApi(audiences)
    ? { audiences, seconds: extendedSeconds, warnAfterSeconds: seconds }
    : { audiences, seconds }
}

const referenceTo = ({ metadata: { name = '', uid } }: KubeObject): Reference => ({ name, uid })

/** Returns the object that the token is bound to, with which it ends. */
function boundTo(
  { spec: { boundObjectRef } }: TokenRequest,
  { namespace, name, lookup }: { namespace: string; name: string; lookup: Lookup },
): Pick<TokenSubject, 'pod' | 'secret' | 'node'> {
  if (!boundObjectRef) return {}
  const { kind = '', apiVersion = '', name: boundName = '', uid } = boundObjectRef
  const [version = '', group = ''] = apiVersion.split('/').reverse()
  const find = (plural: string, scope?: string): KubeObject => {
    const found = lookup({ group: '', plural }, scope, boundName)
    if (!found) throw notFound({ group: '', plural }, boundName)
    return found
  }
  const sameUid = (found: KubeObject): Reference => {
    if (!uid || uid === found.metadata.uid) return referenceTo(found)
    const why = `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`
    throw conflict({ group: '', plural: kind }, boundName, why)
  }
  switch (group === '' ? kind : '') {
    case 'Pod': {
      const pod = find('pods', namespace)
      const { serviceAccountName, nodeName } = (pod as unknown as Pod).spec
      if (serviceAccountName !== name) {
        throw badRequest(
          `cannot bind token for serviceaccount ${JSON.stringify(name)} to pod running with different serviceaccount name.`,
        )
      }
      const node = nodeName ? lookup({ group: '', plural: 'nodes' }, undefined, nodeName) : undefined
      return {
        pod: sameUid(pod),
        ...(nodeName && { node: node ? referenceTo(node) : { name: nodeName } }),
      }
    }
    case 'Node':
      return { node: sameUid(find('nodes')) }
    case 'Secret':
      return { secret: sameUid(find('secrets', namespace)) }
    default:
      throw badRequest(`cannot bind token to object of type ${group}/${version}, Kind=${kind}`)
  }
}
