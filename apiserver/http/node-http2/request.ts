import type { IncomingHttpHeaders } from 'node:http'
import { Http2ServerRequest, type ServerHttp2Stream } from 'node:http2'
import type { TLSSocket } from 'node:tls'

/**
 * Node's request, with what handlers expect of one of HTTP/1.1: the connection's own socket, where Node has a proxy of
 * it that the limits of connections do not know, and fields without pseudo-headers.
 */
export class NodeHttp2Request extends Http2ServerRequest {
  constructor(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    { rawHeaders, socket }: { rawHeaders: readonly string[]; socket: TLSSocket },
  ) {
    super(stream, headers, {}, rawHeaders)
    Object.defineProperty(this, 'socket', { value: socket })
    Object.defineProperty(this, 'headers', { value: plainHeaders(headers) })
  }
}

/** Returns headers without pseudo-headers, but with `:authority` as `host`. */
function plainHeaders(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const plain: IncomingHttpHeaders = {}
  for (const name in headers) if (!name.startsWith(':')) plain[name] = headers[name]
  if (headers[':authority']) plain.host = String(headers[':authority'])
  return plain
}
