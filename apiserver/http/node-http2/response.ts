import type { OutgoingHttpHeader, OutgoingHttpHeaders } from 'node:http'
import { constants, Http2ServerResponse, type ServerHttp2Stream } from 'node:http2'
import { connectionFields } from '../../../shared/http2/protocol.ts'

/** The types of node:http2 have a property that its class lacks, and say less of its methods. */
const Base = Http2ServerResponse as unknown as new (
  stream: ServerHttp2Stream,
) => Omit<Http2ServerResponse, 'destroy' | 'destroyed' | 'setHeader' | 'writeHead'>
const { setHeader } = Http2ServerResponse.prototype
const writeHead: (this: never, status: number, headers: OutgoingHttpHeaders) => unknown =
  Http2ServerResponse.prototype.writeHead

/** Node's response, with what handlers use of one of HTTP/1.1 beyond it. */
export class NodeHttp2Response extends Base {
  /** The stream is over: nothing that is written from now on reaches the client. */
  get destroyed(): boolean {
    return this.stream.destroyed || this.stream.closed
  }

  /** Fields of HTTP/1.1 alone are left out; Node throws for some of them, and warns of others. */
  setHeader(name: string, value: OutgoingHttpHeader): this {
    if (!connectionFields.has(name.toLowerCase())) setHeader.call(this as never, name, value as string)
    return this
  }

  /** As {@link setHeader}; a field without a value is left out, too. */
  writeHead(status: number, headers: OutgoingHttpHeaders = {}): this {
    const known = Object.entries(headers).filter(([name, value]) => value !== undefined && !connectionFields.has(name))
    writeHead.call(this as never, status, Object.fromEntries(known))
    return this
  }

  /** Cut off: the client sees an error, not an end. */
  destroy(): this {
    if (!this.destroyed) this.stream.close(constants.NGHTTP2_INTERNAL_ERROR)
    return this
  }
}
