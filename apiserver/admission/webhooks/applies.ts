import { forbidden } from '../../../shared/api/status/status-errors.ts'
import type { Lookup } from '../../kind/lookup.ts'
import type { AdmissionAttributes } from '../../registry/admission-plugin.ts'
import type { WebhookCandidate } from './candidates.ts'
import { selectsNamespace, selectsObject } from './selectors.ts'

/** Resolves to whether all match conditions hold. Rejects with an Error that says why this cannot be decided. */
export type MatchConditions = (candidate: WebhookCandidate, attributes: AdmissionAttributes) => Promise<boolean>

/**
 * Resolves to whether a webhook must be called for a request, by its selectors and match conditions. Rejects with a
 * StatusError if this cannot be decided.
 */
export async function applies(
  candidate: WebhookCandidate,
  attributes: AdmissionAttributes,
  { lookup, conditions }: { lookup: Lookup; conditions: MatchConditions },
): Promise<boolean> {
  const { hook } = candidate
  // A missing namespace fails only selectors that need its labels.
  if (!selectsObject(hook.objects, attributes)) return false
  if (!selectsNamespace(hook.namespaces, attributes, lookup)) return false
  if (!hook.matchConditions?.length) return true
  try {
    return await conditions(candidate, attributes)
  } catch (error) {
    if (hook.failurePolicy === 'Ignore') return false
    throw forbidden(attributes.definition, attributes.name, (error as Error).message)
  }
}
