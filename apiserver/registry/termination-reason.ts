import type { DeleteOptions, KubeObject } from '../../shared/api/types.ts'
import { invalid } from '../validation/field-error.ts'
import type { FieldErrors } from '../validation/field-errors.ts'
import type { FeatureGates } from './resource-definition.ts'

export const gate = 'PodTerminationReason'
/** For clients that can send neither the field nor the parameter. */
const annotation = 'kubestage.dev/termination-reason'
const maxBytes = 1024
/** What decoders put in the place of bytes that are not UTF-8. */
const notUtf8 = '\ufffd'

/** Why the object is deleted: what the request says; what was said before stands; else what the object's annotation says. */
export function terminationReason(
  featureGates: FeatureGates,
  { reason }: DeleteOptions,
  { metadata }: KubeObject,
): string | undefined {
  if (!featureGates.enabled(gate)) return undefined
  if (reason !== undefined) return reason
  if (metadata.reason !== undefined) return undefined
  const annotated = metadata.annotations?.[annotation]
  // Nobody can be told that an annotation is no reason: the delete goes on without one.
  return annotated !== undefined && reasonMessages(annotated).length === 0 ? annotated : undefined
}

export function validateReason(reason: string | undefined, errors: FieldErrors): void {
  for (const message of reasonMessages(reason)) errors.push(invalid('reason', reason, message))
}

/** It becomes an environment variable and a header, so not every text will do. */
function reasonMessages(reason: string | undefined): string[] {
  if (reason === undefined) return []
  const bytes = Buffer.byteLength(reason)
  if (bytes === 0) return ['must not be empty']
  if (bytes > maxBytes) return [`must be no more than ${maxBytes} bytes`]
  if (reason.trim() === '') return ['must not consist of blanks only']
  if (!reason.isWellFormed() || reason.includes(notUtf8)) return ['must be well-formed Unicode text']
  return /\p{Cc}/u.test(reason) ? ['must not contain control characters'] : []
}
