import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import { transportError } from '../../shared/client/call-errors.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import type { User } from '../kind/user.ts'
import { AnswerReader } from '../webhook-client/answer-reader.ts'
import type { ResolveService } from '../webhook-client/client-config.ts'
import type { ClientCertificate, Connections, Request, Target } from '../webhook-client/connections.ts'
import { identityHeaders } from './identity.ts'
import type { RemoteApi } from './remote-api.ts'

export interface RemoteClientOptions {
  /** Holds the machine's clock. */
  clock: Clock
  /** Shows servers that the requests come from this server. */
  certificate(): ClientCertificate
  resolve: ResolveService
}

export interface Asked {
  path: string
  user: User
  headers?: Record<string, string>
  timeoutMs: number
  maxBytes: number
  /** Resolves when the head of the answer has come, without its body. */
  headOnly?: boolean
}

export interface RemoteAnswer {
  code: number
  headers: IncomingHttpHeaders
  body: string
}

/** Asks servers behind Services, with this server's own certificate. */
export class RemoteClient {
  readonly #options: RemoteClientOptions
  #connections: Promise<Connections> | undefined
  #open: Connections | undefined

  constructor(options: RemoteClientOptions) {
    this.#options = options
  }

  /** Returns where a request goes now. Throws an Error in upstream's words if the Service has no address. */
  locate({ service, ca, insecure }: RemoteApi): Target {
    const dialled = this.#options.resolve(service)
    const { namespace, name } = service
    const host = `${dialled.address.includes(':') ? `[${dialled.address}]` : dialled.address}:${dialled.port}`
    return { url: new URL(`https://${host}`), host, dialled, serverName: `${name}.${namespace}.svc`, ca, insecure }
  }

  get certificate(): ClientCertificate {
    return this.#options.certificate()
  }

  /** Sends a request in the same turn of the event loop, except for the very first one, which loads the client. */
  send(target: Target, request: Request, handler: Dispatcher.DispatchHandler): void | Promise<void> {
    if (this.#open) return this.#open.dispatch(target, request, handler)
    return this.#load().then((connections) => connections.dispatch(target, request, handler))
  }

  /** Resolves to the answer to a GET. Rejects with an Error in Go's words if there is none in time. */
  async read(api: RemoteApi, asked: Asked): Promise<RemoteAnswer> {
    const { path, user, headers, timeoutMs } = asked
    const target = this.locate(api)
    const connections = this.#open ?? (await this.#load())
    return new Promise((resolve, reject) => {
      const fail = (error: Error): void => {
        timer.cancel()
        const { address: host, port } = target.dialled
        reject(new Error(`Get ${JSON.stringify(target.url.origin + path)}: ${transportError(error, { host, port })}`))
      }
      const done = (answer: RemoteAnswer): void => {
        timer.cancel()
        resolve(answer)
      }
      const reader = new AnswerReader({ what: 'the answer', ...asked }, done, fail)
      const timer = this.#options.clock.setTimer(timeoutMs, () => {
        const late = new Error('context deadline exceeded (Client.Timeout exceeded while awaiting headers)')
        fail(late)
        reader.abort(late)
      })
      const all = { host: target.host, 'user-agent': 'Go-http-client/2.0', ...headers, ...identityHeaders(user) }
      try {
        connections.dispatch(target, { method: 'GET', path, headers: all, dialTimeoutMs: timeoutMs }, reader)
      } catch (error) {
        fail(error as Error)
      }
    })
  }

  /** Fails all that is under way. */
  close(): void {
    void this.#connections?.then((connections) => connections.close())
  }

  /** Loads undici, which a server without such APIs does not need. */
  #load(): Promise<Connections> {
    this.#connections ??= import('../webhook-client/connections.ts').then(({ Connections }) => {
      this.#open = new Connections(this.#options.clock, this.#options.certificate)
      return this.#open
    })
    return this.#connections
  }
}
