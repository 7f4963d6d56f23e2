import type { FastifyReply } from 'fastify'

/** For the rejection of a handler that may have taken its answer over: Fastify handles the errors of others alone. */
export const failed =
  (reply: FastifyReply) =>
  (error: Error): void => {
    if (!reply.sent) throw error
    const { request, server } = reply
    server.errorHandler(error as never, request, reply)
  }
