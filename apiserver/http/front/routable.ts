import type { IncomingMessage } from 'node:http'

/**
 * Not by import: that would load all that node:http exports, and so 16 MB of fetch and WebSocket that the server does
 * not use.
 */
const { METHODS } = process.getBuiltinModule('node:http')

const known = new Set(METHODS)
/** No route has it. */
const unrouted = 'UNLINK'
/** Methods of a client's own making, which HTTP/2 lets pass. */
const others = new WeakMap<object, string>()

/** The method as the client has said it. */
export const saidMethod = (request: IncomingMessage): string => others.get(request) ?? request.method ?? 'GET'

/**
 * The URL by which Fastify looks for the route; {@link parseRequestInfo} reads the one that was sent. They differ where
 * Fastify would refuse a URL or a method by itself: that is a hook's to do, or the handler's, after authentication.
 */
export function routableUrl(request: IncomingMessage): string {
  const { method = 'GET', url = '/' } = request
  if (!known.has(method)) {
    others.set(request, method)
    request.method = unrouted
  }
  const path = withoutReason(url)
  return path.includes('%') || path.includes('#') ? decodable(path) : path
}

function withoutReason(url: string): string {
  if (!url.startsWith('/kubestage-reason-')) return url
  const end = url.indexOf('/', 1)
  return end === -1 ? url : url.slice(end)
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
