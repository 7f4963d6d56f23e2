import type { DeleteOptions, KubeObject } from '../../shared/api/types.ts'
import { REASON_ANNOTATION, reasonProblem } from '../../shared/reasons/annotated-reason.ts'
import type { FeatureGates } from '../kind/resource-definition.ts'
import { errorBody, invalid } from '../validation/field-error.ts'
import type { FieldErrors } from '../validation/field-errors.ts'

const gate = 'PodTerminationReason'
const ignored = `is ignored: the feature gate ${gate} is off`
const annotationPath = `metadata.annotations[${REASON_ANNOTATION}]`

/** The feature gates, and the receiver of warnings about invalid reasons. */
export interface ReasonContext {
  featureGates: FeatureGates
  /** Text of a Warning header. */
  warn(text: string): void
}

/**
 * Why the object is deleted: what the request says; what was said before stands; else what the object's annotation
 * says.
 */
export function terminationReason(
  { featureGates, warn }: ReasonContext,
  { reason }: DeleteOptions,
  { metadata }: KubeObject,
): string | undefined {
  const annotated = metadata.annotations?.[REASON_ANNOTATION]
  if (!featureGates.enabled(gate)) {
    if (annotated !== undefined) warn(`${annotationPath} ${ignored}`)
    return undefined
  }
  if (reason !== undefined) return reason
  if (metadata.reason !== undefined || annotated === undefined) return undefined
  const message = reasonProblem(annotated)
  if (message === undefined) return annotated
  // The delete goes on: another client may have set the annotation.
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
  const message = reason === undefined ? undefined : reasonProblem(reason)
  if (message !== undefined) errors.push(invalid('reason', reason, message))
}
