/** An expression that fails while it runs throws a CelError, with a message in cel-go's words. */
export class CelError extends Error {}
/** Returns the limit that ended an evaluation; undefined if `error` has another cause. */
export const limitOf = (error: unknown): 'maxCelSteps' | undefined =>
  error instanceof CelCancelled ? 'maxCelSteps' : undefined
/** Ends an evaluation, whatever another operand or item says. */
export class CelCancelled extends CelError {
  constructor(message = 'operation cancelled: actual cost limit exceeded') {
    super(message)
  }
}
export const noSuchOverload = (): CelError => new CelError('no such overload')
