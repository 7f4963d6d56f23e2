import type { ServerResponse } from 'node:http'

/**
 * The response, for answers that Fastify does not write: streams without an end (watches, logs, exec and its kin), and
 * stored bytes, which all answers share and which are sent without a copy. From here on the caller answers, also when
 * something fails. Hooks of `onSend` do not see such an answer, those of `onResponse` do.
 *
 * `reply`: Fastify's.
 */
export function takeOver(reply: { hijack(): unknown; raw: ServerResponse }): ServerResponse {
  reply.hijack()
  return reply.raw
}
