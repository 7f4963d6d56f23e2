import { Agent } from 'node:https'
import { timeout } from '../../../shared/api/status/status-errors.ts'
import { checkServerIdentity, transportError } from '../../../shared/client/call-errors.ts'
import type { Clock } from '../../../shared/clock/clock.ts'
import type { Aggregation } from '../../aggregation/aggregation.ts'
import type { RemoteApi } from '../../aggregation/remote-api.ts'
import type { Target } from '../../webhook-client/connections.ts'
import { isLongRunning } from '../attributes.ts'
import { sendText } from '../encode/respond.ts'
import type { Exchange } from '../exchange.ts'
import type { Step } from '../hooks/step.ts'
import { joinTo } from '../streams/join.ts'
import { forwardedHeaders } from './headers.ts'
import { PassedAnswer } from './passed-answer.ts'

/** Upstream's limits: of discovery, of other requests that end by themselves, and of a connection. */
const discoveryTimeoutMs = 5000
const requestTimeoutMs = 60_000
const dialTimeoutMs = 30_000

/** Passes a request on to the server of an API. Resolves when the answer has begun. */
export type Forward = (exchange: Exchange, api: RemoteApi) => Promise<void>

/** Answers requests of group versions that other servers serve. */
export function aggregated(aggregation: Aggregation, forward: Forward): Step {
  return (exchange) => {
    if (aggregation.isEmpty) return undefined
    const api = apiOf(aggregation, exchange.info.path)
    return api && pass(exchange, api)
  }

  async function pass(exchange: Exchange, api: RemoteApi): Promise<true> {
    exchange.hasBegun = true
    await forward(exchange, api)
    exchange.served()
    return true
  }
}

/** Requests go to a pod of the APIService's Service. Upstream: kube-aggregator's handler_proxy.go. */
export function forwarder(aggregation: Aggregation, clock: Clock): Forward {
  return async (exchange, api) => {
    const target = api.isAvailable ? locate(api) : undefined
    if (!target) return sendText(exchange, 503, 'service unavailable\n')
    if (exchange.upgrade) return join(exchange, target)
    const { method } = exchange.info
    const body = method === 'GET' || method === 'HEAD' ? null : await exchange.body()
    return new Forwarding({ aggregation, clock, exchange, target, body }).run()
  }

  function locate(api: RemoteApi): Target | undefined {
    try {
      return aggregation.client.locate(api)
    } catch {
      return undefined
    }
  }

  /** Joins the client's connection to one of its own to the server. */
  function join(exchange: Exchange, { url, host, serverName, ca, insecure, dialled }: Target): Promise<void> {
    const { request, upgrade } = exchange
    const trust = { ca, rejectUnauthorized: !insecure, checkServerIdentity }
    const agent = new Agent({ ...aggregation.client.certificate, ...trust })
    const headers = { ...forwardedHeaders(exchange, host), connection: 'Upgrade', upgrade: request.headers.upgrade }
    const { dial } = dialled
    const backend = { url: url.origin + pathOf(exchange), agent, servername: serverName, dial, headers }
    return joinTo(backend, { exchange, upgrade: upgrade! }, (refusal) => {
      if ('unreachable' in refusal) return sendText(exchange, 503, `${refusal.unreachable}\n`)
      const response = exchange.takeOver()
      response.writeHead(refusal.answer.statusCode ?? 502, { ...refusal.answer.headers, connection: 'close' })
      refusal.answer.pipe(response)
      refusal.answer.on('error', () => response.destroy())
    })
  }
}

/** `/apis/GROUP/VERSION`, and what is below it. */
function apiOf(aggregation: Aggregation, path: string): RemoteApi | undefined {
  if (!path.startsWith('/apis/')) return undefined
  const [group = '', version = ''] = path.slice('/apis/'.length).split('/', 2)
  return aggregation.find(group, version)
}

function pathOf({ info: { path, query } }: Exchange): string {
  const search = String(query)
  return search ? `${path}?${search}` : path
}

interface ForwardingOptions {
  aggregation: Aggregation
  clock: Clock
  exchange: Exchange
  target: Target
  body: Buffer | null
}

/** Connections that the server closes while they wait for a request end the request that comes just then. */
const closedMeanwhile = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'])

/** Forwards one request to another server. */
class Forwarding {
  readonly #options: ForwardingOptions
  #answer: PassedAnswer | undefined
  #isLate = false

  constructor(options: ForwardingOptions) {
    this.#options = options
  }

  /** Resolves when the answer has begun; the answer's end is bounded as well, unless the request is long-running. */
  async run(): Promise<void> {
    const { exchange, clock } = this.#options
    const limit = limitOf(exchange)
    const timer = limit === undefined ? undefined : clock.machine.setTimer(limit, () => this.#expire())
    exchange.onClose(() => {
      timer?.cancel()
      this.#answer?.abort(new Error('context canceled'))
    })
    const failure = (await this.#send()) ?? undefined
    const isRepeatable = this.#options.body === null && closedMeanwhile.has(failure?.code ?? '')
    const error = failure && isRepeatable && !this.#isLate && !exchange.hasLeft() ? await this.#send() : failure
    if (error) this.#refuse(error)
  }

  /** Resolves to undefined when the answer has begun, or else to the error. */
  #send(): Promise<NodeJS.ErrnoException | undefined> {
    const { aggregation, exchange, target, body } = this.#options
    return new Promise((resolve) => {
      const answer = new PassedAnswer(exchange, { begun: () => resolve(undefined), failed: resolve })
      this.#answer = answer
      const headers = forwardedHeaders(exchange, target.host)
      const method = exchange.info.method as 'GET'
      const request = { method, path: pathOf(exchange), headers, body, dialTimeoutMs }
      const fail = (error: unknown): void => resolve(error as NodeJS.ErrnoException)
      try {
        const loading = aggregation.client.send(target, request, answer)
        if (loading) loading.catch(fail)
      } catch (error) {
        fail(error)
      }
    })
  }

  #expire(): void {
    this.#isLate = true
    this.#answer?.abort(new Error('context deadline exceeded'))
  }

  #refuse(error: NodeJS.ErrnoException): void {
    const { exchange, target } = this.#options
    if (exchange.hasLeft()) return
    if (this.#isLate && exchange.info.target) throw timeout('request did not complete within the allotted timeout')
    const { address: host, port } = target.dialled
    const why = this.#isLate ? error.message : transportError(error, { host, port })
    sendText(exchange, 503, `error trying to reach service: ${why}\n`)
  }
}

/** Milliseconds; undefined for requests that last as long as the client wants. */
function limitOf({ attributes, info }: Exchange): number | undefined {
  if (isLongRunning(attributes)) return undefined
  const isDiscovery = !info.target && info.path.replace(/^\/|\/$/g, '').split('/').length === 3
  return isDiscovery ? discoveryTimeoutMs : requestTimeoutMs
}
