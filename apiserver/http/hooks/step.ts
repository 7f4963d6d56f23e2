import type { onRequestHookHandler } from 'fastify'
import type { Exchange } from '../exchange.ts'

/**
 * Handles a request in a hook. Returns true, or a promise of true, when the request is answered or its client has left.
 * Throws the error that the client receives.
 */
export type Step = (exchange: Exchange) => unknown

/**
 * Returns the step as a Fastify hook. The request continues in the same turn of the event loop unless the step returns
 * a promise.
 */
export const asHook =
  (step: Step): onRequestHookHandler =>
  (request, _reply, done) => {
    const answered = step(request.exchange)
    if (answered instanceof Promise) answered.then((isAnswered) => isAnswered === true || done(), done)
    else if (answered !== true) done()
  }
