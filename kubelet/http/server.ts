import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Pod } from '../../shared/api/types.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { contentType } from '../../shared/metrics/exposition.ts'
import type { NodeTime } from '../node/node-time.ts'
import type { ContainerRuntime } from '../runtime/container-runtime.ts'
import type { Images } from '../runtime/images/images.ts'
import { authorize, type Reviews } from './access.ts'
import { containerLogs } from './container-logs.ts'
import { logOptions } from './log-options.ts'
import { logTarget } from './log-target.ts'
import type { MetricsPages, MetricsSources } from './metrics/pages.ts'
import { moveClock } from './move-clock.ts'
import { type ControlledNode, controlNode } from './node-controls.ts'
import { Problem } from './problem.ts'
import { runningPods } from './running-pods.ts'
import type { UpgradeRequest } from './streaming/negotiation.ts'
import type { StreamRequest } from './streaming/serve-stream.ts'

/** Not by import: that would load all that node:http exports, and so 16 MB of fetch and WebSocket that nobody here uses. */
const { STATUS_CODES } = process.getBuiltinModule('node:http')

export interface KubeletServerOptions {
  host: string
  /** 0 takes a free one. */
  port: number
  /** PEM texts. */
  tls: { cert: string; key: string; clientCa: string }
  runtime: ContainerRuntime
  /** Absent where no programs are run. */
  images?: Images
  clock: Clock
  log: { warn(fields: object, message: string): void }
  /** As the API shows them. */
  pods(): Pod[]
  node?(): ControlledNode | undefined
  time?: NodeTime
  /** Asked about everybody who is no administrator. */
  reviews(): Promise<Reviews>
  /** Absent: it tells no figures. */
  metrics?: MetricsSources
  /** The answer of `/configz`. */
  configz?(port: number): object
}
export interface KubeletServer {
  port: number
  /** Connections from now on get this certificate. */
  useCertificate(pair: { cert: string; key: string }): void
  close(): Promise<void>
}

/** The kubelet's own HTTPS API: health, pods, logs and streams. Plain Node: a handful of paths, in a process that has to stay small. */
export async function startKubeletServer(options: KubeletServerOptions): Promise<KubeletServer> {
  const { cert, key, clientCa } = options.tls
  const server = createServer({ cert, key, ca: clientCa, requestCert: true, rejectUnauthorized: false })
  server.on('request', (request, response) => {
    answer(options, request, response).catch((error: unknown) => {
      if (!(error instanceof Problem)) options.log.warn({ err: error, url: request.url }, 'a request failed')
      if (response.headersSent) response.destroy()
      else respond(response, error instanceof Problem ? error.code : 500, (error as Error).message)
    })
  })
  const taken = new Set<Duplex>()
  server.on('upgrade', (request, socket, head) => {
    taken.add(socket)
    socket.on('close', () => taken.delete(socket))
    socket.on('error', () => {})
    takeOver(options, { request, socket, head }).catch((error: unknown) => {
      if (error instanceof Problem) return refuse(socket, error)
      options.log.warn({ err: error, url: request.url }, 'a stream failed')
      socket.destroy()
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port, options.host, () => resolve())
  })
  return {
    port: (server.address() as AddressInfo).port,
    useCertificate: (pair) => server.setSecureContext({ ...pair, ca: clientCa }),
    async close() {
      server.closeAllConnections()
      for (const socket of taken) socket.destroy()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

async function answer(
  options: KubeletServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { root, rest, query } = parse(request)
  await authorize(request, root, options.reviews)
  if (root === 'debug' && rest[0] === 'images' && rest.length === 1) {
    // Loaded by the first who asks: most kubelets never are.
    const { controlImages } = await import('./image-controls.ts')
    const asked = { method: request.method, query, body: request }
    return respondJson(response, await controlImages(asked, options.images))
  }
  if (root === 'debug' && rest[0] === 'clock') {
    return respondJson(response, await moveClock({ method: request.method, path: rest, query }, options.time))
  }
  if (root === 'debug') {
    await controlNode({ method: request.method, path: rest, query }, options.node?.())
    return respond(response, 200, 'ok')
  }
  if (options.node?.()?.isLost()) return void request.socket.destroy()
  if (isStreamVerb(root) && (request.method === 'GET' || request.method === 'POST')) {
    return stream(options, { verb: root, path: rest, query })
  }
  if (request.method !== 'GET') throw new Problem(405, 'method not allowed')
  switch (root) {
    case 'healthz':
      return respond(response, 200, 'ok')
    case 'pods':
      return respondJson(response, { kind: 'PodList', apiVersion: 'v1', metadata: {}, items: options.pods() })
    case 'runningpods':
      return respondJson(response, await runningPods(options.runtime))
    case 'metrics':
    case 'stats':
      return serveFigures(options, [root, ...rest], response)
    case 'configz':
      if (rest.length > 0 || !options.configz) throw new Problem(404, '404 page not found')
      return respondJson(response, options.configz(request.socket.localPort ?? options.port))
    case 'containerLogs':
      return serveLogs(options, rest, query, request, response)
    default:
      throw new Problem(404, '404 page not found')
  }
}

/** By whose metrics; made with the first request, as most kubelets never see one. */
const pages = new WeakMap<MetricsSources, Promise<MetricsPages>>()

async function serveFigures(options: KubeletServerOptions, [root, page, ...more]: string[], response: ServerResponse) {
  const { metrics } = options
  if (!metrics || more.length > 0) throw new Problem(404, '404 page not found')
  let made = pages.get(metrics)
  if (!made) {
    made = import('./metrics/pages.ts').then(({ MetricsPages }) => new MetricsPages({ ...options, ...metrics }))
    pages.set(metrics, made)
  }
  const known = await made
  if (root === 'stats' && page === 'summary') return respondJson(response, await known.summary())
  const text = root === 'metrics' ? await known.page(page) : undefined
  if (text === undefined) throw new Problem(404, '404 page not found')
  response.writeHead(200, { 'content-type': contentType, 'x-content-type-options': 'nosniff' })
  response.end(text)
}

/** A connection that is no longer HTTP's, from here on. */
async function takeOver(options: KubeletServerOptions, upgrade: UpgradeRequest): Promise<void> {
  const { root, rest, query } = parse(upgrade.request)
  await authorize(upgrade.request, root, options.reviews)
  if (options.node?.()?.isLost()) return void upgrade.socket.destroy()
  if (!isStreamVerb(root)) throw new Problem(404, '404 page not found')
  await stream(options, { verb: root, path: rest, query, upgrade })
}

/** Loaded by the first who wants it: most kubelets never stream. */
async function stream(options: KubeletServerOptions, request: StreamRequest): Promise<void> {
  const { serveStream } = await import('./streaming/serve-stream.ts')
  await serveStream(options, request)
}

function isStreamVerb(root: string | undefined): root is StreamRequest['verb'] {
  return root === 'exec' || root === 'attach' || root === 'portForward'
}

function refuse(socket: Duplex, { code, message, headers }: Problem): void {
  const lines = Object.entries({
    'Content-Type': 'text/plain; charset=utf-8',
    'X-Content-Type-Options': 'nosniff',
    'Content-Length': Buffer.byteLength(message),
    Connection: 'close',
    ...headers,
  }).map(([name, value]) => `${name}: ${value}`)
  socket.end([`HTTP/1.1 ${code} ${STATUS_CODES[code] ?? ''}`, ...lines, '', message].join('\r\n'))
}

function parse({ url = '/' }: IncomingMessage): { root?: string; rest: string[]; query: URLSearchParams } {
  const mark = url.indexOf('?')
  const path = mark === -1 ? url : url.slice(0, mark)
  const [root, ...rest] = path.split('/').filter(Boolean).map(decode)
  return { root, rest, query: new URLSearchParams(mark === -1 ? '' : url.slice(mark + 1)) }
}

async function serveLogs(
  { runtime, clock, pods }: KubeletServerOptions,
  [namespace, name, container]: string[],
  query: URLSearchParams,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (!namespace || !name || !container) throw new Problem(400, '{"message": "Missing container name."}')
  const options = logOptions(query, clock.now())
  const pod = pods().find(({ metadata }) => metadata.namespace === namespace && metadata.name === name)
  if (!pod) throw new Problem(404, `pod "${name}" does not exist`)
  const containerId = logTarget(pod, container, options.previous)
  const record = (await runtime.list()).containers.find(({ id }) => id === containerId)
  if (!record) throw new Problem(400, `unable to retrieve container logs for containerd://${containerId}`)
  const gone = new AbortController()
  request.on('close', () => gone.abort())
  response.on('close', () => gone.abort())
  response.writeHead(200, { 'content-type': 'text/plain' })
  response.flushHeaders()
  const logs = containerLogs({ runtime, containerId, logPath: record.logPath, options, signal: gone.signal })
  await pipeline(logs, response).catch((error: NodeJS.ErrnoException) => {
    if (!gone.signal.aborted) throw error
  })
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    throw new Problem(400, 'malformed path')
  }
}

function respond(response: ServerResponse, code: number, text: string): void {
  response.writeHead(code, { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' })
  response.end(text)
}

function respondJson(response: ServerResponse, body: object): void {
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
}
