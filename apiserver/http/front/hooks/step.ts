import type { onRequestHookHandler } from 'fastify'
import type { Exchange } from '../../exchange.ts'

/**
 * What a hook does with a request. True, or a promise of it: the request is answered, or its client has left. Throws
 * what the client is told.
 */
export type Step = (exchange: Exchange) => unknown

/**
 * A step as a hook of Fastify, which goes on in the same turn of the event loop wherever nothing has to be waited for.
 */
export const asHook =
  (step: Step): onRequestHookHandler =>
  (request, _reply, done) => {
    const answered = step(request.exchange)
    if (answered instanceof Promise) answered.then((isAnswered) => isAnswered === true || done(), done)
    else if (answered !== true) done()
  }
