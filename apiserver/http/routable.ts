import type { IncomingMessage } from 'node:http'
import { withoutReason } from './reason-prefix.ts'
import { otherMethod } from './routing/methods.ts'

/** Methods that no route has. */
const others = new WeakMap<object, string>()

/** The method as the client has said it. */
export const saidMethod = (request: IncomingMessage): string => others.get(request) ?? request.method ?? 'GET'

/**
 * The URL by which Fastify looks for the route; {@link parseRequestInfo} reads the one that was sent. They differ where
 * Fastify would refuse a URL or a method by itself: that is a hook's to do, or the handler's, after authentication.
 */
export function routableUrl(request: IncomingMessage, routedMethods: ReadonlySet<string>): string {
  const { method = 'GET', url = '/' } = request
  if (!routedMethods.has(method)) {
    others.set(request, method)
    request.method = otherMethod
  }
  const path = withoutReason(url)
  return path.includes('%') || path.includes('#') ? decodable(path) : path
}

function decodable(url: string): string {
  const mark = url.indexOf('?')
  const path = mark === -1 ? url : url.slice(0, mark)
  const rest = mark === -1 ? '' : url.slice(mark)
  const escaped = path.replaceAll('#', '%23')
  try {
    decodeURIComponent(escaped)
    return escaped + rest
  } catch {
    return escaped.replaceAll('%', '%25') + rest
  }
}
