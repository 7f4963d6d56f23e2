import { internalError } from '../../../shared/api/status/status-errors.ts'
import type { AdmissionAttributes, AdmissionPlugin } from '../../registry/admission-plugin.ts'
import { applies } from './applies.ts'
import { auditFailedOpen } from './audit-annotations.ts'
import { callWebhook } from './call-webhook.ts'
import type { WebhookCandidate } from './candidates.ts'
import { FailedCall } from './refusals.ts'
import { isExempt } from './rules.ts'
import type { WebhookContext } from './webhook-context.ts'

/** Calls validating webhooks in parallel; the first refusal decides. Upstream: webhook/validating/dispatcher.go. */
export function validatingWebhooks(context: WebhookContext): AdmissionPlugin {
  const ask = async (attributes: AdmissionAttributes, candidate: WebhookCandidate, index: number): Promise<void> => {
    try {
      await callWebhook(context.client, attributes, candidate, { mutating: false })
    } catch (error) {
      if (!(error instanceof FailedCall)) throw error
      context.log.warn({ err: error }, 'admission webhook')
      const { name, failurePolicy } = candidate.hook
      if (failurePolicy !== 'Ignore') throw internalError(error.message)
      auditFailedOpen(attributes, 'validating', { name, index })
    }
  }
  const askAll = async (attributes: AdmissionAttributes, candidates: readonly WebhookCandidate[]): Promise<void> => {
    const asked: WebhookCandidate[] = []
    for (const candidate of candidates) if (await applies(candidate, attributes, context)) asked.push(candidate)
    await settle(asked.map((candidate, index) => ask(attributes, candidate, index)))
  }
  return {
    asksAll: true,
    validate(attributes) {
      const candidates = context.candidates.of(attributes)
      if (candidates.length === 0 || isExempt(attributes)) return
      return askAll(attributes, candidates)
    },
  }
}

/** Waits until all have answered: warnings count, also those that come after a refusal. */
async function settle(asked: Promise<void>[]): Promise<void> {
  const refusals: unknown[] = []
  await Promise.all(asked.map((answer) => answer.catch((error: unknown) => refusals.push(error))))
  if (refusals.length > 0) throw refusals[0]
}
