import type { ClientRequest, IncomingMessage, OutgoingHttpHeaders } from 'node:http'
import { StatusError } from '../../../shared/api/status/status-error.ts'
import { requestError } from '../../../shared/client/call-errors.ts'
import { Gathered } from '../../../shared/client/gathered.ts'
import type { Exchange } from '../exchange.ts'
import { type Backend, type BackendRequest, requestOf } from '../streams/backend.ts'
import { joinTo } from '../streams/join.ts'

export interface Forwarded {
  /** Holds the path with its query. */
  path: string
  /** The server's path below which the backend appears; links are rewritten to it. */
  prefix: string
}

/** Headers of one hop (RFC 9110 7.6.1), and the client's credentials: neither is forwarded. */
const ownHeaders =
  /^(:.*|connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|host|authorization|impersonate-.*)$/

/** Passes a request on, and the answer back. Upstream: apimachinery/pkg/util/proxy. */
export async function forward(exchange: Exchange, backend: Backend, { path, prefix }: Forwarded): Promise<void> {
  const { request, upgrade } = exchange
  const url = backend.origin + path
  const { agent, servername, dial } = backend
  if (upgrade) {
    const wanted = { connection: 'Upgrade', upgrade: request.headers.upgrade }
    const headers = { ...passedOn(request), ...wanted, ...forwardedFor(request, prefix) }
    return joinTo({ url, agent, servername, dial, headers }, { exchange, upgrade })
  }
  const answer = await send(exchange, {
    url,
    agent,
    servername,
    dial,
    headers: { ...passedOn(request), ...forwardedFor(request, prefix) },
  })
  const headers = withOwnLinks(answer, { origin: backend.origin, prefix })
  const isPage = /^text\/html/.test(answer.headers['content-type'] ?? '') && !answer.headers['content-encoding']
  if (isPage && request.method !== 'HEAD') {
    const page = Buffer.from(linksBelow(prefix, (await readPage(answer)).toString('utf8')))
    const asIs = { ...headers, 'content-length': page.length }
    return void exchange.reply
      .code(answer.statusCode ?? 502)
      .headers(asIs)
      .send(page)
  }
  const response = exchange.takeOver()
  response.writeHead(answer.statusCode ?? 502, headers)
  answer.on('error', () => response.destroy())
  answer.pipe(response)
}

function send(exchange: Exchange, asked: Omit<BackendRequest, 'method'>): Promise<IncomingMessage> {
  const { request } = exchange
  return new Promise((resolve, reject) => {
    const outgoing = requestOf({ ...asked, method: request.method })
    outgoing.on('response', resolve)
    outgoing.on('error', (error) => reject(notReached(requestError(error, asked.url))))
    exchange.onClose(() => outgoing.destroy())
    passBody(request, outgoing)
  })
}

/**
 * Passes the body on as the backend reads it; what it does not want any more is discarded. A request of HTTP/2 has the
 * same interface, but is not a Node stream.
 */
function passBody(request: IncomingMessage, outgoing: ClientRequest): void {
  const pass = (part: Buffer): void => {
    if (!outgoing.write(part)) request.pause()
  }
  request.on('data', pass)
  request.on('end', () => outgoing.end())
  request.on('aborted', () => outgoing.destroy())
  outgoing.on('drain', () => request.resume())
  outgoing.on('close', () => request.off('data', pass).resume())
}

/**
 * Makes the error (503) for a backend that was not reached; `why` is the reason in Go's words, e.g. that the connection
 * was refused.
 */
export const notReached = (why: string): StatusError =>
  new StatusError({ code: 503, reason: 'ServiceUnavailable', message: `error trying to reach service: ${why}` })

function passedOn({ headers }: IncomingMessage): OutgoingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !ownHeaders.test(name)))
}

const forwardedFor = ({ headers }: IncomingMessage, prefix: string): OutgoingHttpHeaders => ({
  'x-forwarded-uri': prefix,
  'x-forwarded-host': headers[':authority'] ?? headers.host ?? '',
  'x-forwarded-proto': 'https',
})

/** A redirection to the backend itself stays below the prefix. */
function withOwnLinks(
  answer: IncomingMessage,
  { origin, prefix }: { origin: string; prefix: string },
): OutgoingHttpHeaders {
  const headers = Object.fromEntries(Object.entries(answer.headers).filter(([name]) => !ownHeaders.test(name)))
  const { location } = answer.headers
  if (location === undefined) return headers
  const target = location.startsWith(`${origin}/`) ? location.slice(origin.length) : location
  return { ...headers, location: target.startsWith('/') ? prefix + target : location }
}

const links = /\b(href|src|action|cite|background|longdesc)=(["'])(\/(?!\/)[^"']*)/gi

const linksBelow = (prefix: string, page: string): string =>
  page.replace(links, `$1=$2${prefix.replaceAll('$', '$$$$')}$3`)

/** Bounds a page, which is held as a whole while its links are put right. */
const maxPageBytes = 16 * 1024 * 1024

/** Rejects with a StatusError (503) for a page without end: what answers is a pod's, and may be anything. */
async function readPage(answer: IncomingMessage): Promise<Buffer> {
  const page = new Gathered('the page', maxPageBytes)
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) page.add(chunk)
  } catch (error) {
    throw notReached((error as Error).message)
  }
  return page.take()
}
