import type { Status, StatusCause } from '../../../shared/api/status/status-error.ts'
import { causeBytes, cutTo } from '../../validation/cut-text.ts'

/**
 * A refusal may repeat what was sent, and more than once: of a message and of causes that are too much for one answer,
 * the beginning. Most are their own answer.
 */
export function boundedStatus(status: Status, maxCauseBytes: number): Status {
  const { message = '', details } = status
  const mostCharacters = 2 * maxCauseBytes
  const causes = details?.causes && boundedCauses(details.causes, maxCauseBytes)
  if (message.length <= mostCharacters && causes === details?.causes) return status
  const left = (details?.causes?.length ?? 0) - (causes?.length ?? 0)
  const more = left > 0 ? ` (and ${left} more causes)` : ''
  return {
    ...status,
    message: cutTo(message, mostCharacters) + more,
    ...(details && { details: { ...details, ...(causes && { causes }) } }),
  }
}

function boundedCauses(causes: StatusCause[], limit: number): StatusCause[] {
  let bytes = 0
  for (const [index, { field = '', message = '' }] of causes.entries()) {
    bytes += causeBytes(field, message)
    if (bytes <= limit) continue
    const first = { ...causes[index]!, field: cutTo(field, limit), message: cutTo(message, limit) }
    return index === 0 ? [first] : causes.slice(0, index)
  }
  return causes
}
