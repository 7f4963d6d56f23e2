import type { ClientRequest, OutgoingHttpHeaders } from 'node:http'
import { type Agent, request as httpsRequest } from 'node:https'

/** A server to which requests are forwarded. */
export interface Backend {
  /** `http://127.64.0.3:80` */
  origin: string
  /** For HTTPS: the client certificate, and the CAs that are trusted; without it every server is. */
  agent?: Agent
  servername?: string
}

export interface BackendRequest extends Omit<Backend, 'origin'> {
  url: string
  method: string | undefined
  headers: OutgoingHttpHeaders
}

/** Not by import: see listen.ts. */
const { request: httpRequest } = process.getBuiltinModule('node:http')

/** Begins a request; its body, and what becomes of it, is the caller's affair. */
export function requestOf({ url, agent, servername, method, headers }: BackendRequest): ClientRequest {
  if (!url.startsWith('https:')) return httpRequest(url, { method, headers })
  return httpsRequest(url, { method, headers, agent, servername, ...(!agent && { rejectUnauthorized: false }) })
}
