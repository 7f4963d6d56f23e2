import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http'
import { identityHeaders, isIdentity } from '../../aggregation/identity.ts'
import type { Exchange } from '../exchange.ts'

/** Headers of one hop (RFC 9110 7.6.1), and credentials: neither is forwarded. */
const ofOneHop =
  /^(:.*|connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|host|expect|content-length)$/
const credentials = /^(authorization|impersonate-.*)$/
/** This server alone decides which web pages may read an answer. Upstream: corsRemovingTransport. */
const ofCors = /^access-control-/

/** Returns the headers that a request has when it is forwarded. This server names the user. */
export function forwardedHeaders({ request, user }: Exchange, host: string): Record<string, string | string[]> {
  const { headers, socket } = request
  const passed: Record<string, string | string[]> = { host }
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || ofOneHop.test(name) || credentials.test(name) || isIdentity(name)) continue
    passed[name] = value
  }
  const before = headers['x-forwarded-for']
  const address = socket.remoteAddress ?? ''
  passed['x-forwarded-for'] = before === undefined ? address : `${String(before)}, ${address}`
  passed['x-forwarded-host'] = String(headers[':authority'] ?? headers.host ?? '')
  passed['x-forwarded-proto'] = 'https'
  passed['x-forwarded-uri'] = request.url?.split('?', 1)[0] ?? ''
  return Object.assign(passed, identityHeaders(user))
}

/** Returns the headers of a server's answer as the client gets them. */
export function answeredHeaders(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  const passed: OutgoingHttpHeaders = {}
  for (const [name, value] of Object.entries(headers))
    if (!ofCors.test(name) && (name === 'content-length' || !ofOneHop.test(name))) passed[name] = value
  return passed
}
