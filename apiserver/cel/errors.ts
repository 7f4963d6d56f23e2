/** What goes wrong in an expression while it runs, in cel-go's words. */
export class CelError extends Error {}
/** The limit that an evaluation has reached, if that is what ended it. */
export const limitOf = (error: unknown): 'maxCelSteps' | undefined =>
  error instanceof CelCancelled ? 'maxCelSteps' : undefined
/** Ends an evaluation, whatever another operand or item says. */
export class CelCancelled extends CelError {
  constructor(message = 'operation cancelled: actual cost limit exceeded') {
    super(message)
  }
}
export const noSuchOverload = (): CelError => new CelError('no such overload')
