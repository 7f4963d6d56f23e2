import type { FastifyReply } from 'fastify'

/**
 * Handles the rejection of a handler that may have hijacked its reply, in which case Fastify handles no error itself.
 */
export const failed =
  (reply: FastifyReply) =>
  (error: Error): void => {
    if (!reply.sent) throw error
    const { request, server } = reply
    server.errorHandler(error as never, request, reply)
  }
