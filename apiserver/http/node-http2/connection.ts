import type { IncomingHttpHeaders } from 'node:http'
import { constants, performServerHandshake, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import type { TLSSocket } from 'node:tls'
import type { Clock, Timer } from '../../../shared/clock/clock.ts'
import { fieldOverhead } from '../../../shared/http2/hpack/header-tables.ts'
import { maxHeaderListBytes } from '../../../shared/http2/server/request-head.ts'
import { connectionReceiveWindow, streamReceiveWindow } from '../../../shared/http2/server/stream.ts'
import type { LimitName } from '../limits/limits.ts'
import { NodeHttp2Request } from './request.ts'
import { NodeHttp2Response } from './response.ts'

export interface NodeHttp2Options {
  clock: Clock
  /** Limits how long a client may take to begin, and for each request. */
  requestTimeoutMs: number
  /** Bytes of answers that may wait for the client. */
  maxUnreadBytes: number
  /** Streams open at a time, before and after {@link NodeHttp2Connection.identified}. */
  maxStreams: { anonymous: number; identified: number }
  /** True where the client has shown valid credentials before its first request. */
  isIdentified?: boolean
  onRequest(request: NodeHttp2Request, response: NodeHttp2Response): void
  onLimit(limit: LimitName): void
}

const bytesPerMegabyte = 1_000_000
/** Fields of one head: as many as fit into its bytes. */
const maxFields = maxHeaderListBytes / fieldOverhead
/** Resets of streams by the client, as the own HTTP/2 takes them. */
const resets = { streamResetBurst: 10_000, streamResetRate: 1_000 }

/** NGHTTP2_ERR_FLOODED, which node:http2 does not export. */
const flooded = -904

/** The server's side of one HTTP/2 connection by node:http2, for users who choose it over our own (`--http2=node`). */
export class NodeHttp2Connection {
  readonly #socket: TLSSocket
  readonly #options: NodeHttp2Options
  readonly #session: ServerHttp2Session
  /** Maps each stream whose body has not arrived to the beginning of its request. */
  readonly #arriving = new Map<ServerHttp2Stream, number>()
  #open = 0
  #idleSinceMs: number
  #hasBegun = false
  #isIdentified: boolean
  #deadline: Timer | undefined

  constructor(socket: TLSSocket, options: NodeHttp2Options) {
    this.#socket = socket
    this.#options = options
    this.#isIdentified = options.isIdentified ?? false
    this.#idleSinceMs = options.clock.monotonic()
    const session = performServerHandshake(socket, {
      settings: {
        maxConcurrentStreams: options.maxStreams[options.isIdentified ? 'identified' : 'anonymous'],
        initialWindowSize: streamReceiveWindow,
        maxHeaderListSize: maxHeaderListBytes,
      },
      maxHeaderListPairs: maxFields,
      // What waits for the client is bounded by the limits of answers and watches: this is for all else.
      maxSessionMemory: Math.ceil((2 * options.maxUnreadBytes) / bytesPerMegabyte),
      ...resets,
    })
    this.#session = session
    session.setLocalWindowSize(connectionReceiveWindow)
    session.on('stream', (stream, headers, flags, rawHeaders) => {
      if (!(flags & constants.NGHTTP2_FLAG_END_STREAM)) this.#watchArrival(stream)
      this.#onStream(stream, headers, rawHeaders)
    })
    session.on('remoteSettings', () => {
      this.#hasBegun = true
    })
    session.on('error', (error: NodeJS.ErrnoException) => this.#onError(error))
    session.on('close', () => this.#deadline?.cancel())
    this.#watchDeadlines()
  }

  /** The client has shown valid credentials: it may open more streams. */
  identified(): void {
    if (this.#isIdentified || this.#session.destroyed) return
    this.#isIdentified = true
    this.#session.settings({ maxConcurrentStreams: this.#options.maxStreams.identified })
  }

  /** Ends when no stream has been open for so long; true when it does now. */
  endIfIdle(idleMs: number): boolean {
    if (this.#open > 0 || this.#options.clock.monotonic() - this.#idleSinceMs < idleMs) return false
    if (this.#session.closed || this.#session.destroyed) return false
    this.close()
    return true
  }

  /** Takes no new requests, and ends when those under way are answered. */
  close(): void {
    this.#session.close()
  }

  /** Ends at once. */
  destroy(): void {
    this.#session.destroy()
  }

  #onStream(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, rawHeaders: readonly string[]): void {
    this.#open++
    stream.once('close', () => {
      this.#open--
      this.#idleSinceMs = this.#options.clock.monotonic()
      this.#arriving.delete(stream)
    })
    const request = new NodeHttp2Request(stream, headers, { rawHeaders, socket: this.#socket })
    const response = new NodeHttp2Response(stream)
    // CONNECT has no path, and is served by no handler.
    if (request.url === undefined) stream.close(constants.NGHTTP2_PROTOCOL_ERROR)
    else if (isTooLarge(rawHeaders)) this.#refuseHead(response)
    else this.#options.onRequest(request, response)
  }

  /** Node itself looks at the size only when the client has acknowledged the settings, and then resets the stream. */
  #refuseHead(response: NodeHttp2Response): void {
    this.#options.onLimit('requestHead')
    response.writeHead(431).end()
  }

  #watchArrival(stream: ServerHttp2Stream): void {
    this.#arriving.set(stream, this.#options.clock.monotonic())
    this.#watchDeadlines()
  }

  /** `sinceMs`: since when the oldest request arrives. Default: now. */
  #watchDeadlines(sinceMs = this.#options.clock.monotonic()): void {
    const { clock, requestTimeoutMs } = this.#options
    this.#deadline ??= clock.setTimer(
      sinceMs + requestTimeoutMs - clock.monotonic(),
      () => {
        this.#deadline = undefined
        if (this.#session.destroyed) return
        if (!this.#hasBegun) this.#giveUp()
        else this.#endOverdue()
        const [oldestMs] = this.#arriving.values()
        if (oldestMs !== undefined) this.#watchDeadlines(oldestMs)
      },
      { background: true },
    )
  }

  /** The client has not even begun. */
  #giveUp(): void {
    this.#options.onLimit('requestReadTimeout')
    this.#session.destroy()
  }

  /** Ends the streams whose request should have been complete by now. */
  #endOverdue(): void {
    const { clock, requestTimeoutMs, onLimit } = this.#options
    const begunBy = clock.monotonic() - requestTimeoutMs
    for (const [stream, begunMs] of this.#arriving) {
      const isComplete = stream.state.remoteClose === 1
      if (!isComplete && begunMs > begunBy) continue
      this.#arriving.delete(stream)
      if (isComplete) continue
      onLimit('requestReadTimeout')
      stream.close(constants.NGHTTP2_CANCEL)
    }
  }

  /** The connection has ended by then; handlers hear of it by `close`. */
  #onError({ code, errno }: NodeJS.ErrnoException): void {
    const isFlood = code === 'ERR_HTTP2_TOO_MANY_INVALID_FRAMES' || errno === flooded
    if (isFlood) this.#options.onLimit('uselessFrames')
  }
}

/** `rawHeaders`: names and values in turns. */
function isTooLarge(rawHeaders: readonly string[]): boolean {
  let bytes = (rawHeaders.length / 2) * fieldOverhead
  for (const text of rawHeaders) bytes += text.length
  return bytes > maxHeaderListBytes
}
