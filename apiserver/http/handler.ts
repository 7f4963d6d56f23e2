import { eventRounds } from '../watchcache/event-rounds.ts'
import type { ApiContext } from './api-context.ts'
import type { Negotiated } from './encode/negotiation.ts'
import { type Answer, sendJson } from './encode/respond.ts'
import type { ResourceExchange } from './exchange.ts'

/**
 * Answers a request on a resource. The caller answers with the error that it throws: a StatusError where the client is
 * at fault.
 */
export type Handler = (api: ApiContext, exchange: ResourceExchange) => void | Promise<void>

/** Writes, and returns the answer without sending it. */
export type WriteHandler = (api: ApiContext, exchange: ResourceExchange) => Promise<WriteAnswer>

export interface WriteAnswer extends Answer {
  negotiated: Negotiated
}

/**
 * Answers a write after its events have left. A verb returns its answer and does not send it, so that it cannot
 * forget to wait. `deletecollection` streams its answer, and waits for the events itself.
 */
export const writing =
  (write: WriteHandler): Handler =>
  async (api, context) => {
    const answer = await write(api, context)
    await eventRounds.sent()
    sendJson(context.exchange, answer, answer.negotiated)
  }
