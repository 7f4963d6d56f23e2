/**
 * Writes what webhooks add to the audit event of a request. Upstream: webhook/mutating/dispatcher.go,
 * webhook/validating/dispatcher.go.
 */
import { toJson } from '../../../shared/api/json/exact-json.ts'
import type { JsonPatchOperation } from '../../patch/json-patch.ts'
import type { AdmissionAttributes } from '../../registry/admission-plugin.ts'
import { qualifiedName } from '../../validation/names.ts'
import { escapedAsGo } from '../go-json.ts'
import type { RegisteredWebhook } from './webhook.ts'

type Annotated = Pick<AdmissionAttributes, 'annotate' | 'reinvocation'>

/** Writes what the answer of a webhook says for the event. A key that is not allowed is left out. */
export function auditAnswer({ annotate }: Annotated, webhook: string, said: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(said)) {
    const key = `${webhook}/${name}`
    if (qualifiedName(key).length === 0) annotate?.(key, value)
  }
}

/** Writes that a mutating webhook was asked, and whether it has changed the object. */
export function auditMutation(
  attributes: Annotated,
  { configuration, name, index }: RegisteredWebhook,
  mutated: boolean,
): void {
  const value = escapedAsGo(JSON.stringify({ configuration, webhook: name, mutated }))
  attributes.annotate?.(`mutation.webhook.admission.k8s.io/${roundOf(attributes, index)}`, value)
}

/** Writes the patch of a mutating webhook, which is a part of the request's body. */
export function auditPatch(
  attributes: Annotated,
  { configuration, name, index }: RegisteredWebhook,
  operations: readonly JsonPatchOperation[],
): void {
  if (!attributes.annotate) return
  const patch = operations.map((operation) =>
    Object.fromEntries(Object.entries(operation).sort(([a], [b]) => (a < b ? -1 : 1))),
  )
  const value = escapedAsGo(toJson({ configuration, webhook: name, patch, patchType: 'JSONPatch' }))
  attributes.annotate(`patch.webhook.admission.k8s.io/${roundOf(attributes, index)}`, value, 'Request')
}

/** Writes that a webhook has failed, and that its failurePolicy ignores that. */
export function auditFailedOpen(
  attributes: Annotated,
  phase: 'mutation' | 'validating',
  { name, index }: Pick<RegisteredWebhook, 'name' | 'index'>,
): void {
  const round = phase === 'mutation' ? roundOf(attributes, index) : `round_0_index_${index}`
  attributes.annotate?.(`failed-open.${phase}.webhook.admission.k8s.io/${round}`, name)
}

const roundOf = ({ reinvocation }: Annotated, index: number): string =>
  `round_${reinvocation?.isSecondRound ? 1 : 0}_index_${index}`
