import type { DeleteOptions, KubeObject } from '../../shared/api/types.ts'
import { errorBody, invalid } from '../validation/field-error.ts'
import type { FieldErrors } from '../validation/field-errors.ts'
import type { FeatureGates } from './resource-definition.ts'

const gate = 'PodTerminationReason'
const ignored = `is ignored: the feature gate ${gate} is off`
/** For clients that can send neither the field nor the parameter. */
const annotation = 'kubestage.dev/termination-reason'
const annotationPath = `metadata.annotations[${annotation}]`
const maxBytes = 1024
/** What decoders put in the place of bytes that are not UTF-8. */
const notUtf8 = '\ufffd'

/** Who is asked, and told of a reason that does not count. */
export interface ReasonContext {
  featureGates: FeatureGates
  /** Text of a Warning header. */
  warn(text: string): void
}

/** Why the object is deleted: what the request says; what was said before stands; else what the object's annotation says. */
export function terminationReason(
  { featureGates, warn }: ReasonContext,
  { reason }: DeleteOptions,
  { metadata }: KubeObject,
): string | undefined {
  const annotated = metadata.annotations?.[annotation]
  if (!featureGates.enabled(gate)) {
    if (annotated !== undefined) warn(`${annotationPath} ${ignored}`)
    return undefined
  }
  if (reason !== undefined) return reason
  if (metadata.reason !== undefined || annotated === undefined) return undefined
  const [message] = reasonMessages(annotated)
  if (message === undefined) return annotated
  // The delete goes on: whoever sends it may not be the one who annotated the object.
  warn(`${annotationPath}: ${errorBody(invalid('', annotated, message))}; it is not used as the reason`)
  return undefined
}

/** The reason of a request as far as the gate lets it count. */
export function gatedReason(reason: string | undefined, { featureGates, warn }: ReasonContext): string | undefined {
  if (reason === undefined || featureGates.enabled(gate)) return reason
  warn(`the reason ${ignored}`)
  return undefined
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
