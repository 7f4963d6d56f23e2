import https from 'node:https'
import { Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { HTTPGetAction } from '../../shared/api/types.ts'
import { dialError } from '../../shared/client/network-errors.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import type { NodeNetwork } from '../runtime/network/node-network.ts'
import { type ActionOptions, type ActionResult, type ActionTarget, CANCELED } from './action.ts'
import { LONGEST_MS, networkFor } from './dial.ts'
import { type HttpRequest, httpRequest, urlOf } from './http-request.ts'

/** An import would load all that node:http exports, among it 16 MB of fetch and WebSocket that are not used here. */
const http = process.getBuiltinModule('node:http')
const maxBodyBytes = 10 * 1024
const maxRedirects = 10
/** OpenSSL reports an answer in plain HTTP with these codes. */
const notTls = new Set([
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_PACKET_LENGTH_TOO_LONG',
  'ERR_SSL_HTTP_REQUEST',
  'EPROTO',
])

interface Answer {
  status: number
  body: string
  location?: string
}
/** Says how a request is sent: until the signal aborts, and in the node's network if the pod has its own. */
interface Way {
  signal: AbortSignal
  network: NodeNetwork | undefined
}
class PlainHttpError extends Error {}
class TimeoutError extends Error {}

/**
 * A GET to the pod: any answer is success to a hook, 200 to 399 to a probe. Redirects are followed on the same host
 * only. Upstream: pkg/probe/http/http.go, pkg/kubelet/lifecycle/handlers.go.
 */
export async function runHttpGet(
  action: HTTPGetAction,
  target: ActionTarget,
  options: ActionOptions & { clock: Clock },
): Promise<ActionResult> {
  const first = httpRequest(action, target, options)
  const deadline = new AbortController()
  const timer =
    options.timeoutMs === undefined
      ? undefined
      : options.clock.machine.setTimer(options.timeoutMs, () => deadline.abort(new TimeoutError()))
  const signal = options.signal ? AbortSignal.any([options.signal, deadline.signal]) : deadline.signal
  try {
    const network = networkFor(target.runtime, first.host)
    return judge(await getWithFallback(first, { signal, network }, options), options)
  } catch (error) {
    const outcome = error instanceof TimeoutError ? 'timeout' : 'failure'
    return { outcome, output: '', message: `Get "${urlOf(first)}": ${textOf(error as Error, first)}` }
  } finally {
    timer?.cancel()
  }
}

/** A hook's server that turns out to speak plain HTTP is asked so, without the credentials that were meant for TLS. */
async function getWithFallback(request: HttpRequest, way: Way, { purpose }: ActionOptions): Promise<Answer> {
  try {
    return await follow(request, way)
  } catch (error) {
    if (!(error instanceof PlainHttpError) || purpose !== 'hook') throw error
    const headers = request.headers.filter(([name]) => name !== 'Authorization')
    return follow({ ...request, scheme: 'http', headers }, way)
  }
}

async function follow(request: HttpRequest, way: Way): Promise<Answer> {
  let current = request
  for (let redirects = 0; ; redirects++) {
    const answer = await get(current, way)
    if (answer.location === undefined) return answer
    const next = new URL(answer.location, urlOf(current))
    if (next.hostname !== new URL(urlOf(request)).hostname) return answer
    if (redirects === maxRedirects) throw new Error(`stopped after ${maxRedirects} redirects`)
    current = redirected(current, next)
  }
}

function redirected(from: HttpRequest, { protocol, port, pathname, search }: URL): HttpRequest {
  const scheme = protocol === 'https:' ? 'https' : 'http'
  const target = {
    ...from,
    scheme,
    port: Number(port) || (scheme === 'https' ? 443 : 80),
    path: pathname + search,
  } as const
  const headers = from.headers.map(([name, value]): [string, string] =>
    name === 'Host' ? [name, new URL(urlOf(target)).host] : [name, value],
  )
  return { ...target, headers }
}

function get(request: HttpRequest, { signal, network }: Way): Promise<Answer> {
  const { scheme, host, port, path } = request
  return new Promise((resolve, reject) => {
    const module = scheme === 'https' ? https : http
    const outgoing = module.request({
      host,
      port,
      path,
      signal,
      ...(network ? { createConnection: connectionIn(network, request) } : { agent: false }),
      setHost: false,
      setDefaultHeaders: false,
      rejectUnauthorized: false,
    })
    for (const [name, value] of request.headers) outgoing.appendHeader(name, value)
    outgoing.on('error', (error) => reject(requestError(error, signal, request)))
    outgoing.on('response', (response) => {
      const chunks: Buffer[] = []
      let size = 0
      const done = () => {
        outgoing.destroy()
        const { statusCode: status = 0, headers } = response
        const location = status >= 300 && status < 400 && status !== 304 ? headers.location : undefined
        resolve({ status, location, body: Buffer.concat(chunks).subarray(0, maxBodyBytes).toString() })
      }
      response.on('data', (chunk: Buffer) => {
        chunks.push(chunk)
        size += chunk.length
        if (size >= maxBodyBytes) done()
      })
      response.on('end', done)
      response.on('error', (error) => reject(requestError(error, signal, request)))
    })
    outgoing.end()
  })
}

const connectionIn =
  (network: NodeNetwork, { scheme, host, port }: HttpRequest) =>
  (_: object, done: (error: Error | null, socket: Socket) => void): undefined => {
    const secured = (socket: Socket) => connectTls({ socket, rejectUnauthorized: false })
    network.connect({ host, port, timeoutMs: LONGEST_MS }).then(
      (socket) => done(null, scheme === 'https' ? secured(socket) : socket),
      (error: Error) => done(error, new Socket()),
    )
  }

function requestError(error: NodeJS.ErrnoException, signal: AbortSignal, { scheme }: HttpRequest): Error {
  if (signal.aborted) return signal.reason instanceof Error ? signal.reason : new Error(CANCELED)
  if (scheme === 'https' && notTls.has(error.code ?? '')) return new PlainHttpError()
  return error
}

function textOf(error: Error, { host, port }: HttpRequest): string {
  if (error instanceof TimeoutError) return 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)'
  if (error instanceof PlainHttpError) return 'http: server gave HTTP response to HTTPS client'
  if (error.name === 'AbortError') return CANCELED
  if (error.message === 'socket hang up') return 'EOF'
  return dialError(error, host, port)
}

function judge({ status, body, location }: Answer, { purpose }: ActionOptions): ActionResult {
  const result = { httpStatus: status, output: body, message: '' }
  if (purpose === 'hook') return { ...result, outcome: 'success' }
  if (status < 200 || status >= 400) {
    return { ...result, outcome: 'failure', message: `HTTP probe failed with statuscode: ${status}` }
  }
  const warning = location === undefined ? undefined : `Probe terminated redirects, Response body: ${body}`
  return { ...result, outcome: 'success', ...(warning && { warning }) }
}
