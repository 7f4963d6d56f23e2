import type { ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'

/**
 * The response, for answers that Fastify does not write: watches and other streams without an end, and stored bytes,
 * which all answers share and which are sent without a copy. From here on the caller answers, also when something
 * fails. Hooks of `onSend` do not see such an answer, those of `onResponse` do.
 */
export function takeOver(reply: FastifyReply): ServerResponse {
  reply.hijack()
  return reply.raw
}
