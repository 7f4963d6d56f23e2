import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import type { Exchange } from '../exchange.ts'

/**
 * Handles a request in a hook. Returns true, or a promise of true, when the request is answered or its client has left.
 * Throws the error that the client receives.
 */
export type Step = (exchange: Exchange) => unknown

/** Makes the exchange of a request; undefined when the request is answered. */
type Begin = (request: FastifyRequest, reply: FastifyReply) => Exchange | undefined

/**
 * Returns all steps as one Fastify hook, since Fastify looks at the answer before and after each hook. The request
 * continues in the same turn of the event loop unless a step returns a promise.
 */
export function asHook(begin: Begin, steps: readonly Step[]): onRequestHookHandler {
  return (request, reply, done) => {
    const exchange = begin(request, reply)
    if (exchange && passes(exchange, 0, done)) done()
  }

  /** Returns whether the request may go on now; where a step makes it wait, `done` is called later. */
  function passes(exchange: Exchange, from: number, done: (error?: Error) => void): boolean {
    for (let at = from; at < steps.length; at++) {
      const answered = steps[at]!(exchange)
      if (answered === undefined || answered === false) continue
      if (answered instanceof Promise) {
        const goOn = (isAnswered: unknown): boolean =>
          isAnswered !== true && !exchange.reply.sent && passes(exchange, at + 1, done)
        answered.then(goOn).then((isLast) => {
          if (isLast) done()
        }, done)
        return false
      }
      if (answered === true) return false
    }
    return true
  }
}
