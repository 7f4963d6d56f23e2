import type { IncomingMessage } from 'node:http'
import { Agent, request } from 'node:https'
import { ConnectionPool } from './connection-pool.ts'
import type {
  Cancellation,
  PlainAnswer,
  PlainRequest,
  StreamedAnswer,
  Transport,
  TransportOptions,
} from './transport.ts'

/**
 * HTTP/1.1: plain requests over a pool of connections, and a connection of node:https for each answer that is read
 * while it comes.
 */
export class Http1Transport implements Transport {
  readonly #options: TransportOptions
  readonly #pool: ConnectionPool
  readonly #agent: Agent

  constructor(options: TransportOptions) {
    this.#options = options
    this.#pool = new ConnectionPool(options)
    this.#agent = new Agent({ ...options.tls, maxFreeSockets: 0 })
  }

  request(request: PlainRequest, cancellation: Cancellation): Promise<PlainAnswer> {
    return this.#pool.request(request, cancellation)
  }

  async stream(path: string, signal: AbortSignal): Promise<StreamedAnswer> {
    const { headers, tls } = this.#options
    const { host, port, servername } = tls
    const options = { host, port, servername, path, headers, agent: this.#agent, signal }
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const asked = request(options, resolve).on('error', reject)
      asked.on('upgrade', (_answer, socket) => socket.destroy())
      // Rejects also if Node reports no error: after a switch of protocols, or an abort during such a switch.
      asked.on('close', () => reject(new Error('the connection was closed before an answer')))
      asked.end()
    })
    return { status: response.statusCode ?? 500, statusText: response.statusMessage ?? '', body: response }
  }

  retire(): void {
    this.#pool.retire()
  }

  close(): void {
    this.#pool.close()
    this.#agent.destroy()
  }
}
