import type { ClientRequest, OutgoingHttpHeaders } from 'node:http'
import { type Agent, request as httpsRequest } from 'node:https'
import type { Duplex } from 'node:stream'
import { connect } from 'node:tls'
import type { Dial } from '../../../shared/http/dial.ts'

/** A server to which requests are forwarded. */
export interface Backend {
  /** `http://127.64.0.3:80` */
  origin: string
  /** For HTTPS: the client certificate, and the CAs that are trusted; without it every server is. */
  agent?: Agent
  servername?: string
  /** Connects to it, where it has no address here. */
  dial?: Dial
}

export interface BackendRequest extends Omit<Backend, 'origin'> {
  url: string
  method: string | undefined
  headers: OutgoingHttpHeaders
}

/** This is not imported: see listen.ts. */
const { request: httpRequest } = process.getBuiltinModule('node:http')

/** Begins a request; its body, and what becomes of it, is the caller's affair. */
export function requestOf(request: BackendRequest): ClientRequest {
  const { url, agent, servername, method, headers, dial } = request
  if (dial) return dialledRequest(request, dial)
  if (!url.startsWith('https:')) return httpRequest(url, { method, headers })
  return httpsRequest(url, { method, headers, agent, servername, ...(!agent && { rejectUnauthorized: false }) })
}

/** The connection is made for this request alone. */
function dialledRequest({ url, agent, servername, method, headers }: BackendRequest, dial: Dial): ClientRequest {
  const isSecure = url.startsWith('https:')
  const trust = agent?.options ?? { rejectUnauthorized: false }
  const secured = (socket: Duplex): Duplex => (isSecure ? connect({ ...trust, servername, socket }) : socket)
  return (isSecure ? httpsRequest : httpRequest)(url, {
    method,
    headers,
    createConnection(_options, done) {
      dial().then(
        (socket) => done(null, secured(socket)),
        (error: Error) => done(error, undefined as never),
      )
      return undefined
    },
  })
}
