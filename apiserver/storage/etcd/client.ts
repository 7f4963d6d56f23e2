import type { Clock } from '../../../shared/clock/clock.ts'
import { GrpcChannel, type GrpcChannelOptions, type GrpcStream } from '../../../shared/grpc/channel.ts'
import { GrpcError, grpcCodes } from '../../../shared/grpc/status.ts'
import { decode, encode } from './codec.ts'
import { type Draft, type Message, methods, watchPath } from './messages.ts'

export interface EtcdClientOptions {
  /** `https://host:port`; the first that answers is used until it fails. */
  endpoints: readonly string[]
  tls?: GrpcChannelOptions['tls']
  clock: Clock
}

type Methods = typeof methods
type Answer<Name extends keyof Methods> = Message<Methods[Name]['response']>
type Question<Name extends keyof Methods> = Draft<Methods[Name]['request']>

interface CallOptions {
  /** Carrying it out twice is harmless, so that it is sent again where its fate is unknown. */
  isRepeatable: boolean
  timeoutMs?: number
}

const timeoutMs = 10_000
/** Between two rounds of attempts to connect to a member. */
const pausesMs = [100, 200, 400, 800, 1000]

/** Calls to the members of an etcd cluster: one at a time, the next when that one fails. */
export class EtcdClient {
  readonly #channels: readonly GrpcChannel[]
  readonly #clock: Clock
  #current = 0
  #isClosed = false
  /** While no member can be reached: the one attempt of all who wait, and how many these are. */
  #recovery: Promise<void> | undefined
  #waiting = 0
  #failure: GrpcError | undefined
  /** Rounds without a member since the last answer. */
  #failures = 0

  constructor({ endpoints, tls, clock }: EtcdClientOptions) {
    this.#channels = endpoints.map((url) => new GrpcChannel({ url, tls, clock }))
    this.#clock = clock
  }

  /**
   * Rejects with a GrpcError: at once for an answer, and after `timeoutMs` when no member can be reached. All calls that
   * wait for a member share one attempt to connect.
   */
  async call<Name extends keyof Methods>(
    name: Name,
    draft: Question<Name>,
    options: CallOptions,
  ): Promise<Answer<Name>> {
    const { path, request, response } = methods[name]
    const bytes = encode(request, draft as object)
    const deadline = this.#clock.monotonic() + (options.timeoutMs ?? timeoutMs)
    for (let attempt = 1; ; attempt++) {
      if (this.#recovery) await this.#recovered(deadline)
      const channel = this.#channels[this.#current]!
      const left = deadline - this.#clock.monotonic()
      try {
        const answer = await channel.unary(path, bytes, { timeoutMs: left })
        this.#failures = 0
        return decode(response, answer) as Answer<Name>
      } catch (error) {
        if (!isLost(error)) throw error
        this.leave(channel)
        if (this.#isClosed || (error.wasSent && !options.isRepeatable)) throw error
        if (attempt % this.#channels.length === 0) await this.#recovered(deadline, error)
      }
    }
  }

  /** Opens a stream of watches. `onEnd` means that the caller opens it again, with the next member. */
  async openWatch(handlers: {
    onResponse(response: Message<'WatchResponse'>): void
    onEnd(error: GrpcError | undefined): void
  }): Promise<{ send(request: Draft<'WatchRequest'>): void; close(): void }> {
    if (this.#recovery) await this.#recovered(Number.POSITIVE_INFINITY)
    const channel = this.#channels[this.#current]!
    let stream: GrpcStream
    try {
      stream = await channel.stream(watchPath, {
        onMessage: (message) => handlers.onResponse(decode('WatchResponse', message)),
        onEnd: (error) => {
          this.leave(channel)
          handlers.onEnd(error)
        },
      })
    } catch (error) {
      this.leave(channel)
      throw error
    }
    return { send: (request) => stream.send(encode('WatchRequest', request)), close: () => stream.close() }
  }

  /** The next member's turn, where `channel` is the current one. */
  leave(channel: GrpcChannel): void {
    if (this.#channels[this.#current] === channel) this.#current = (this.#current + 1) % this.#channels.length
  }

  /** Resolves when a member can be reached. Rejects with the last failure when the deadline is over. */
  async #recovered(deadline: number, failure = this.#failure): Promise<void> {
    this.#failure = failure
    this.#waiting++
    this.#recovery ??= this.#recover().finally(() => {
      this.#recovery = undefined
    })
    const isOver = Promise.withResolvers<never>()
    const left = deadline - this.#clock.monotonic()
    const timer = Number.isFinite(left) ? this.#clock.setTimer(left, () => isOver.reject(this.#failure)) : undefined
    try {
      await Promise.race([this.#recovery, isOver.promise])
    } finally {
      timer?.cancel()
      this.#waiting--
    }
    if (this.#isClosed) throw this.#failure
  }

  async #recover(): Promise<void> {
    for (;;) {
      await this.#clock.sleep(pausesMs[Math.min(this.#failures++, pausesMs.length - 1)]!)
      for (const [index, channel] of this.#channels.entries()) {
        if (this.#isClosed || this.#waiting === 0) return
        const failure = await channel.connected().then(
          () => undefined,
          (error: GrpcError) => error,
        )
        if (failure) this.#failure = failure
        // What does not get better by trying again is an answer as well: the calls find it out.
        if (isLost(failure)) continue
        this.#current = index
        return
      }
    }
  }

  close(): void {
    this.#isClosed = true
    for (const channel of this.#channels) channel.close()
  }
}

/** Returns whether another member may succeed. */
const isLost = (error: unknown): error is GrpcError =>
  error instanceof GrpcError &&
  (error.code === grpcCodes.unavailable || error.code === grpcCodes.deadlineExceeded) &&
  !isRefusedConnection(error)

/** Certificates that do not fit, and another protocol, do not get better by trying again. */
const isRefusedConnection = ({ cause, message }: GrpcError): boolean =>
  tlsReason(cause) !== undefined || message === 'Protocol error'

/**
 * Returns why TLS to etcd fails, because of the certificates or URL schemes of the two sides, and what to do; undefined
 * for other failures.
 */
export function tlsReason(cause: unknown): string | undefined {
  const { code = '', message = '' } = (cause ?? {}) as { code?: string; message?: string }
  if (/WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG/.test(code + message))
    return 'it does not use TLS; name it with http://'
  if (/ALT_?NAME_INVALID/.test(code)) return `its certificate is for another host (${message}); check the URL`
  if (/CERT_HAS_EXPIRED|CERT_NOT_YET_VALID/.test(code)) return `its certificate is not valid now (${code}); renew it`
  if (/SELF_SIGNED|UNABLE_TO_(VERIFY|GET)|DEPTH_ZERO|CERT_|INVALID_CA/.test(code))
    return `its certificate is not signed by the CA of --etcd-cafile (${code}); pass the CA of etcd`
  if (/ALERT|CERTIFICATE_REQUIRED|HANDSHAKE_FAILURE/.test(code + message.toUpperCase().replaceAll(' ', '_')))
    return 'it refuses our client certificate; pass one of its CA with --etcd-certfile and --etcd-keyfile'
  return undefined
}
