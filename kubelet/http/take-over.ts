import type { ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'

/**
 * The response, for streams without an end, which Fastify does not write: logs, and exec, attach and port-forward. From
 * here on the caller answers; what fails goes to {@link failed}.
 */
export function takeOver(reply: FastifyReply): ServerResponse {
  reply.hijack()
  return reply.raw
}

/** For the rejection of a handler that may have taken its answer over: Fastify handles the errors of others alone. */
export const failed =
  (reply: FastifyReply) =>
  (error: Error): void => {
    if (!reply.sent) throw error
    const { request, server } = reply
    server.errorHandler(error as never, request, reply)
  }
