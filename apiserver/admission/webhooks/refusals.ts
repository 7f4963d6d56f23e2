/** Says why a webhook ends a request. Upstream: webhook/errors/statuserror.go. */
import { StatusError } from '../../../shared/api/status/status-error.ts'
import type { ReviewResponse } from '../admission-review.ts'

/** A call to a webhook failed, or its answer is not valid; the webhook's failurePolicy decides the result. */
export class FailedCall extends Error {
  constructor(webhook: string, why: string) {
    super(`failed calling webhook ${JSON.stringify(webhook)}: ${why}`)
  }
}

const minCode = 400

/** Returns a webhook's denial as the answer to the client. */
export function denied(webhook: string, status: NonNullable<ReviewResponse['status']> = {}): StatusError {
  const by = `admission webhook ${JSON.stringify(webhook)} denied the request`
  const { code = 0, reason, message, details } = status
  const why = message || reason
  return new StatusError({
    code: Math.max(code, minCode),
    ...(reason && { reason }),
    message: why ? `${by}: ${why}` : `${by} without explanation`,
    ...(details && { details }),
  })
}
