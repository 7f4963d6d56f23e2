import type { FastifyRequest } from 'fastify'
import { rootOf } from './canonical-url.ts'
import { Problem } from './problem.ts'

/** Methods of other paths than those that are only read, by the first segment. */
const methods: Readonly<Record<string, readonly string[]>> = {
  exec: ['GET', 'POST'],
  attach: ['GET', 'POST'],
  portForward: ['GET', 'POST'],
}

/** 405 for a method that nothing below the first segment has, else 404. */
export function notFound({ url, method }: FastifyRequest): never {
  const root = rootOf(url)
  const known = (Object.hasOwn(methods, root) && methods[root]) || ['GET']
  if (root === 'debug' || known.includes(method)) throw pageNotFound()
  throw new Problem(405, 'method not allowed')
}

export const pageNotFound = (): Problem => new Problem(404, '404 page not found')
