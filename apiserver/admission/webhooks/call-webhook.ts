import { randomUUID } from 'node:crypto'
import { badRequest } from '../../../shared/api/status/status-errors.ts'
import { CallError } from '../../../shared/client/call-errors.ts'
import type { AdmissionAttributes } from '../../registry/admission-plugin.ts'
import { reviewVersion } from '../../validation/review-version.ts'
import type { WebhookClient } from '../../webhook-client/webhook-client.ts'
import { type ReviewResponse, readReview, reviewRequest } from '../admission-review.ts'
import { auditAnswer } from './audit-annotations.ts'
import type { WebhookCandidate } from './candidates.ts'
import { denied, FailedCall } from './refusals.ts'

const userAgent = 'kube-apiserver-admission'
const harmless = ['None', 'NoneOnDryRun']

/**
 * Calls a webhook, and resolves to its response if the response allows the request. Rejects with the StatusError of its
 * denial, or with a FailedCall.
 */
export async function callWebhook(
  client: WebhookClient,
  attributes: AdmissionAttributes,
  { hook, definition }: WebhookCandidate,
  { mutating }: { mutating: boolean },
): Promise<ReviewResponse> {
  const { name, clientConfig, timeoutSeconds } = hook
  if (attributes.dryRun && !harmless.includes(hook.sideEffects))
    throw badRequest(`admission webhook ${JSON.stringify(name)} does not support dry run`)
  const version = reviewVersion(hook.admissionReviewVersions)
  if (version === undefined)
    throw new FailedCall(
      name,
      'could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)',
    )
  const uid = randomUUID()
  const review = await reviewRequest(attributes, { matched: definition, uid, version })
  let answer: Record<string, unknown>
  try {
    answer = await client.post(clientConfig, review, { timeoutSeconds, userAgent })
  } catch (error) {
    if (!(error instanceof CallError)) throw error
    throw new FailedCall(name, `failed to call webhook: ${error.message}`)
  }
  const response = verified(name, () => readReview(answer, { uid, version, mutating }))
  auditAnswer(attributes, name, response.auditAnnotations)
  for (const text of response.warnings) attributes.warn(text)
  if (!response.allowed) throw denied(name, response.status)
  return response
}

function verified(name: string, read: () => ReviewResponse): ReviewResponse {
  try {
    return read()
  } catch (error) {
    throw new FailedCall(name, `received invalid webhook response: ${(error as Error).message}`)
  }
}
