import { type ConnectionOptions, connect, createSecureContext, type SecureContext, type TLSSocket } from 'node:tls'
import { type Dispatcher, Pool } from 'undici'
import { checkServerIdentity, transportError } from '../../shared/client/call-errors.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { type Answer, AnswerReader } from './answer-reader.ts'
import type { Dialled } from './client-config.ts'

/** Where a request goes, and whose certificate is trusted there. */
export interface Target {
  url: URL
  /** The value of the Host header, which Go writes with its port. */
  host: string
  dialled: Dialled
  /** Holds the name of the server; undefined for an IP address. */
  serverName: string | undefined
  /** Holds PEM; by default the CAs that this machine trusts. */
  ca: string | undefined
  /** Trusts every certificate. */
  insecure?: boolean
}

/** The certificate that servers are shown, in PEM. */
export interface ClientCertificate {
  cert: string
  key: string
}

interface PostOptions {
  userAgent: string
  timeoutMs: number
}

/** A patch, or the objects that were to be converted. Go's client reads without a limit. */
const leastAnswerBytes = 4 * 1024 * 1024
const answerPerReview = 2

const maxAuthorities = 64
/** Upstream: the IdleConnTimeout of client-go's transport. */
const keepAliveTimeout = 90_000

/** Keeps connections to servers in the cluster, for each authority its own. */
export class Connections {
  readonly #clock: Clock
  readonly #certificate: (() => ClientCertificate) | undefined
  /** Maps authorities to connections; the one that was used last is last. */
  readonly #kept = new Map<string, Authority>()
  /** Holds the connections of `#kept`, and those that still answer their last requests. */
  readonly #open = new Set<Authority>()

  /** `clock`: the machine's. `certificate` is read for each new authority. */
  constructor(clock: Clock, certificate?: () => ClientCertificate) {
    this.#clock = clock
    this.#certificate = certificate
  }

  /** Resolves to whatever the webhook answers. Rejects, in the words of Go's net, when no answer has come in time. */
  post(target: Target, body: string, options: PostOptions): Promise<Answer> {
    return this.#authority(target).post(target, body, options)
  }

  /** Sends a request, whose `handler` learns what comes of it. Throws if the target's CA cannot be read. */
  dispatch(target: Target, request: Request, handler: Dispatcher.DispatchHandler): void {
    this.#authority(target).dispatch(request, handler)
  }

  /** Fails all that is under way. */
  close(): void {
    for (const authority of this.#open) authority.destroy()
    this.#kept.clear()
  }

  #authority(target: Target): Authority {
    const { url, dialled, ca = '', insecure = false } = target
    const id = `${url.host} ${dialled.address} ${dialled.port} ${insecure} ${ca}`
    const authority = this.#kept.get(id) ?? this.#opened(target)
    this.#kept.delete(id)
    this.#kept.set(id, authority)
    const [oldest] = this.#kept.keys()
    if (this.#kept.size > maxAuthorities && oldest !== undefined) {
      this.#kept.get(oldest)?.leave()
      this.#kept.delete(oldest)
    }
    return authority
  }

  #opened(target: Target): Authority {
    const authority = new Authority(target, this.#clock, {
      certificate: this.#certificate?.(),
      onLeft: () => this.#open.delete(authority),
    })
    this.#open.add(authority)
    return authority
  }
}

/** Holds what undici sends, and how long it may take to connect. */
export interface Request extends Pick<Dispatcher.DispatchOptions, 'method' | 'path' | 'headers' | 'body'> {
  dialTimeoutMs: number
}

interface AuthorityOptions {
  certificate: ClientCertificate | undefined
  onLeft(): void
}

/** Makes the connections to one server; undici keeps them. */
class Authority {
  readonly #clock: Clock
  readonly #pool: Pool
  readonly #target: Target
  readonly #secureContext: SecureContext
  readonly #dialling = new Set<TLSSocket>()
  readonly #onLeft: () => void
  #session: Buffer | undefined
  /** undici dials while it takes a request: the time that this request has is the dial's. */
  #dialTimeoutMs = 0

  constructor(target: Target, clock: Clock, { certificate, onLeft }: AuthorityOptions) {
    this.#target = target
    this.#clock = clock
    this.#onLeft = onLeft
    // A bundle may contain the server's own certificate, which is then trusted, as in Go.
    this.#secureContext = createSecureContext({ ca: target.ca, ...certificate, allowPartialTrustChain: true })
    this.#pool = new Pool(target.url.origin, {
      connect: (_options, done) => this.#dial(done),
      allowH2: false,
      pipelining: 1,
      keepAliveTimeout,
      headersTimeout: 0,
      bodyTimeout: 0,
    })
  }

  /** Never retried: the webhook may have acted on the review before it closed the connection. */
  post({ url, host }: Target, body: string, { userAgent, timeoutMs }: PostOptions): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const fail = (error: Error): void => {
        timer.cancel()
        reject(
          new Error(transportError(error, { host: this.#target.dialled.address, port: this.#target.dialled.port })),
        )
      }
      const done = (answer: Answer): void => {
        timer.cancel()
        resolve(answer)
      }
      const maxBytes = leastAnswerBytes + answerPerReview * Buffer.byteLength(body)
      const reader = new AnswerReader({ what: "the webhook's answer", maxBytes }, done, fail)
      const timer = this.#clock.setTimer(timeoutMs, () => {
        const late = new Error('context deadline exceeded')
        fail(late)
        reader.abort(late)
      })
      const headers = {
        host,
        'user-agent': userAgent,
        accept: 'application/json, */*',
        'content-type': 'application/json',
      }
      const path = url.pathname + url.search
      this.dispatch({ method: 'POST', path, headers, body, dialTimeoutMs: timeoutMs }, reader)
    })
  }

  dispatch({ dialTimeoutMs, ...request }: Request, handler: Dispatcher.DispatchHandler): void {
    this.#dialTimeoutMs = dialTimeoutMs
    this.#pool.dispatch(request, handler)
  }

  /** Closes the connections once the requests under way have their answers. */
  leave(): void {
    void this.#pool.close().then(this.#onLeft)
  }

  destroy(): void {
    const error = new Error('context canceled')
    for (const socket of this.#dialling) socket.destroy(error)
    void this.#pool.destroy(error).then(this.#onLeft)
  }

  #dial(done: Parameters<Connect>[1]): void {
    const { address: host, port, dial } = this.#target.dialled
    const timeoutMs = this.#dialTimeoutMs
    if (!dial) {
      this.#secure({ host, port }, timeoutMs, done)
      return
    }
    const begunMs = this.#clock.monotonic()
    dial().then(
      (socket) => this.#secure({ socket }, timeoutMs - this.#clock.monotonic() + begunMs, done),
      (error: Error) => done(error, null),
    )
  }

  #secure(to: ConnectionOptions, timeoutMs: number, done: Parameters<Connect>[1]): void {
    const { serverName } = this.#target
    const socket = connect({
      ...to,
      servername: serverName,
      rejectUnauthorized: !this.#target.insecure,
      secureContext: this.#secureContext,
      session: this.#session,
      ALPNProtocols: ['http/1.1'],
      checkServerIdentity,
    })
    this.#dialling.add(socket)
    const timer = this.#clock.setTimer(Math.max(0, timeoutMs), () =>
      socket.destroy(new Error('context deadline exceeded')),
    )
    const end = (error: Error | null): void => {
      timer.cancel()
      if (!this.#dialling.delete(socket)) return
      if (error) done(error, null)
      else done(null, socket)
    }
    socket.setNoDelay(true)
    socket.on('session', (session) => {
      this.#session = session
    })
    socket.once('secureConnect', () => end(null))
    socket.on('error', end)
    socket.once('close', () => end(new Error('EOF')))
  }
}

type Connect = Extract<NonNullable<Pool.Options['connect']>, (...args: never[]) => unknown>
