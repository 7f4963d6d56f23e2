import type { FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from './problem.ts'
import { sendText } from './respond.ts'

export interface ErrorLog {
  warn(fields: object, message: string): void
}

/** A Problem is told to the client as it is. All other errors are logged. */
export const createErrorHandler =
  (log: ErrorLog) =>
  (error: Error, request: FastifyRequest, reply: FastifyReply): void => {
    const problem = error instanceof Problem ? error : undefined
    if (!problem) log.warn({ err: error, url: request.originalUrl }, 'a request failed')
    // An answer that has begun can only be cut off.
    if (reply.sent) request.raw.socket.destroy()
    else sendText(reply.headers(problem?.headers ?? {}), problem?.code ?? 500, error.message)
  }

/** URLs that Fastify does not route. */
export const createFrameworkErrorHandler = (log: ErrorLog) => {
  const handle = createErrorHandler(log)
  return (_error: Error, request: FastifyRequest, reply: FastifyReply): void =>
    handle(new Problem(400, 'malformed path'), request, reply)
}
