import type { DeleteOptions, KubeObject } from '../../../shared/api/types.ts'
import type { FeatureGates } from '../../../shared/config/feature-gates.ts'
import { REASON_ANNOTATION, reasonIsIgnored, reasonProblem } from '../../../shared/reasons/annotated-reason.ts'
import { errorBody, invalid } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import type { RequestScope } from '../write-context.ts'

const gate = 'PodTerminationReason'
const ignored = `is ignored: the feature gate ${gate} is off`
const annotationPath = `metadata.annotations[${REASON_ANNOTATION}]`

/** Holds the feature gates, and the receiver of warnings about invalid reasons. */
export interface ReasonContext {
  featureGates: FeatureGates
  /** Adds a Warning header with this text to the answer. */
  warn(text: string): void
}

/**
 * Returns the new reason for the deletion of an object: that of the request, else that of the object's annotation if
 * the object has no reason yet. Returns undefined if neither gives a reason, or if the gate is off. Warns about an
 * annotation that is invalid or that the gate ignores.
 */
export function terminationReason(
  { featureGates, warn }: ReasonContext,
  { reason }: DeleteOptions,
  { metadata }: KubeObject,
): string | undefined {
  const annotated = metadata.annotations?.[REASON_ANNOTATION]
  if (!featureGates[gate]) {
    if (annotated !== undefined) warn(`${annotationPath} ${ignored}`)
    return undefined
  }
  if (reason !== undefined) return reason
  if (metadata.reason !== undefined || annotated === undefined) return undefined
  const message = reasonProblem(annotated)
  if (message === undefined) return annotated
  // An invalid annotation does not fail the delete: another client may have set it.
  warn(`${annotationPath}: ${errorBody(invalid('', annotated, message))}; it is not used as the reason`)
  return undefined
}

/** Warns the client if it writes `metadata.reason`, which is ignored. */
export function warnOfReason({ metadata }: KubeObject, warn: ReasonContext['warn']): void {
  if (metadata.reason !== undefined) warn(`metadata.reason: ${reasonIsIgnored}`)
}

/**
 * Returns the reason of an object after an update. Only kubelets set a reason: with the status of a pod that they end
 * themselves, if no deletion has given one. A reason from any other client is ignored with a warning.
 */
export function reasonAfterUpdate(
  { definition, subresource, user }: RequestScope,
  object: KubeObject,
  old: KubeObject,
  { featureGates, warn }: ReasonContext,
): string | undefined {
  const { reason } = object.metadata
  const kept = old.metadata.reason
  if (reason === undefined || reason === kept) return kept
  const isOfKubelet =
    subresource === 'status' && definition.strategy.checkGracefulDelete && user.groups.includes('system:nodes')
  if (isOfKubelet && kept === undefined && featureGates[gate] && !reasonProblem(reason)) return reason
  warnOfReason(object, warn)
  return kept
}

/** Returns the reason of a request if the gate is on; otherwise warns that the reason is ignored. */
export function gatedReason(reason: string | undefined, { featureGates, warn }: ReasonContext): string | undefined {
  if (reason === undefined || featureGates[gate]) return reason
  warn(`the reason ${ignored}`)
  return undefined
}

export function validateReason(reason: string | undefined, errors: FieldErrors): void {
  const message = reason === undefined ? undefined : reasonProblem(reason)
  if (message !== undefined) errors.push(invalid('reason', reason, message))
}
