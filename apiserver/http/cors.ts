import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'

const allowed = {
  'access-control-allow-methods': 'POST, GET, OPTIONS, PUT, DELETE, PATCH',
  'access-control-allow-headers':
    'Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, If-Modified-Since',
  'access-control-expose-headers': 'Date',
  'access-control-allow-credentials': 'true',
}

/**
 * Lets pages of these origins (regular expressions) ask. Answers whether the request was a question about that alone,
 * and is done. Upstream: apiserver/pkg/server/filters/cors.go.
 */
export function createCors(
  origins: readonly string[],
): (request: IncomingMessage, response: ServerResponse) => boolean {
  const patterns = origins.map((origin) => new RegExp(origin, 'i'))
  return (request, response) => {
    const { origin } = request.headers
    if (origin === undefined || !patterns.some((pattern) => pattern.test(origin))) return false
    const headers: OutgoingHttpHeaders = { 'access-control-allow-origin': origin, ...allowed, vary: 'Origin' }
    if (request.method === 'OPTIONS') {
      response.writeHead(204, headers).end()
      return true
    }
    const writeHead = response.writeHead.bind(response)
    Object.assign(response, {
      writeHead: (status: number, own: OutgoingHttpHeaders = {}) =>
        writeHead(status, { ...headers, ...own, vary: [own.vary, headers.vary].filter(Boolean).join(', ') }),
    })
    return false
  }
}
