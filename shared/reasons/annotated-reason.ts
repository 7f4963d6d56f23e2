import type { KubeObject } from '../api/types.ts'

/**
 * For clients that can send neither the field nor the parameter: why the object that carries it is deleted, or evicted.
 */
export const REASON_ANNOTATION = 'kubestage.dev/termination-reason'
/** A client that writes the field gets this warning. */
export const reasonIsIgnored = `it is ignored: the field "reason" of a DELETE's options sets it, or the annotation ${REASON_ANNOTATION}`
const MAX_BYTES = 1024
/** Decoders replace bytes that are not UTF-8 with this character. */
const NOT_UTF8 = '\ufffd'

/** Says why the text cannot be a reason, which becomes an environment variable and a header. Undefined if it can. */
export function reasonProblem(reason: string): string | undefined {
  const bytes = Buffer.byteLength(reason)
  if (bytes === 0) return 'must not be empty'
  if (bytes > MAX_BYTES) return `must be no more than ${MAX_BYTES} bytes`
  if (reason.trim() === '') return 'must not consist of blanks only'
  if (!reason.isWellFormed() || reason.includes(NOT_UTF8)) return 'must be well-formed Unicode text'
  return /\p{Cc}/u.test(reason) ? 'must not contain control characters' : undefined
}

/** The annotation, where it can be a reason. */
export function annotatedReason({ metadata }: Pick<KubeObject, 'metadata'>): string | undefined {
  const annotated = metadata.annotations?.[REASON_ANNOTATION]
  return annotated !== undefined && reasonProblem(annotated) === undefined ? annotated : undefined
}
