import { forbidden } from '../../../shared/api/status-errors.ts'
import type { Lookup } from '../../kind/lookup.ts'
import type { AdmissionAttributes } from '../../registry/admission-plugin.ts'
import type { WebhookCandidate } from './candidates.ts'
import { selectsNamespace, selectsObject } from './selectors.ts'

/** Whether all conditions hold; rejects with an Error that says why that cannot be told. */
export type MatchConditions = (candidate: WebhookCandidate, attributes: AdmissionAttributes) => Promise<boolean>

/**
 * Whether a webhook, by its selectors and conditions, is to be asked. Throws a StatusError where that cannot be told.
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
