import type { RouteHandlerMethod } from 'fastify'
import type { Exchange } from '../exchange.ts'

/** Answers a request. What it throws, or its promise rejects with, is told to the client. */
export type Handle = (exchange: Exchange) => unknown

/**
 * Returns the function as a Fastify handler. It returns nothing to Fastify: handlers send their answers themselves, in
 * the same turn of the event loop where they can.
 */
export const asHandler =
  (handle: Handle): RouteHandlerMethod =>
  (request, reply) => {
    const { exchange, server } = request
    // An answer that has begun can only be cut off.
    const fail = (error: Error): unknown =>
      reply.sent ? server.errorHandler(error as never, request, reply) : reply.send(error)
    // While a hook of a plugin kept the request.
    if (exchange.hasLeft()) return exchange.served()
    exchange.hasBegun = true
    try {
      const handling = handle(exchange)
      if (handling instanceof Promise) handling.then(() => exchange.served(), fail)
      else exchange.served()
    } catch (error) {
      fail(error as Error)
    }
  }
