import type { TLSSocket } from 'node:tls'
import type { Clock, Timer } from '../../clock/clock.ts'
import { frameOf, goAway, setting, windowUpdate } from '../frames.ts'
import { HeaderDecoder } from '../hpack/header-decoder.ts'
import {
  ConnectionError,
  defaultMaxFrameSize,
  defaultWindow,
  ErrorCode,
  Flag,
  FrameType,
  maxWindow,
  Setting,
  StreamError,
} from '../protocol.ts'
import { TokenBucket } from '../token-bucket.ts'
import {
  assertConnectionFrame,
  assertLength,
  calmDown,
  dependsOnItself,
  type Http2Limit,
  malformed,
  protocolError,
  TooMuch,
} from './frame-checks.ts'
import { FrameReader } from './frame-reader.ts'
import { HeaderBlock } from './header-block.ts'
import { Outbox } from './outbox.ts'
import { decodeRequestHead, maxHeaderListBytes, trailersProblem } from './request-head.ts'
import { connectionReceiveWindow, streamReceiveWindow } from './stream.ts'
import { type OnRequest, Streams } from './streams.ts'

export interface Http2Options {
  clock: Clock
  /** Milliseconds that a client may take to begin, and for each request. */
  requestTimeoutMs: number
  onRequest: OnRequest
  /** Streams open at a time, before and after {@link Http2Connection.identified}. */
  maxStreams: { anonymous: number; identified: number }
  /** True where the client has shown valid credentials before its first request. */
  isIdentified?: boolean
  /** A limit was reached; what follows of it has not happened yet. */
  onLimit?(limit: Http2Limit): void
}

/** The last frame has this long to arrive. */
const farewellMs = 1_000
/** Frames that only make work. */
const idleFrameLimits = { burst: 10_000, perSecond: 1_000 }
/** After so much work the other connections get their turn: bytes received, and each request as so many of them. */
const turnBytes = 256 * 1024
const requestBytes = 4 * 1024
/** A SETTINGS frame that changes the window of this many streams costs one more token. */
const streamsPerToken = 64

/**
 * The server's side of one HTTP/2 connection (RFC 9113), in a third of the time that node:http2 needs for small
 * requests. Priorities are read and ignored; extensions, pushes and CONNECT are not known.
 */
export class Http2Connection {
  readonly #socket: TLSSocket
  readonly #clock: Clock
  readonly #requestTimeoutMs: number
  readonly #reader: FrameReader
  readonly #decoder = new HeaderDecoder()
  readonly #outbox: Outbox
  readonly #streams: Streams
  readonly #idleFrames: TokenBucket
  /** A head whose CONTINUATION is still to come. */
  #block: HeaderBlock | undefined
  readonly #maxStreams: Http2Options['maxStreams']
  readonly #onLimit: NonNullable<Http2Options['onLimit']>
  #isIdentified: boolean
  /** For {@link endIfIdle}: the last stream that it saw, and since when there has been none. */
  #idle: { lastId: number; sinceMs: number }
  /** Bytes of work in the current turn of the event loop. */
  #work = 0
  #settingsSeen = false
  #deadline: Timer | undefined
  #closed = false

  constructor(socket: TLSSocket, options: Http2Options) {
    const { clock, requestTimeoutMs, onRequest, maxStreams, isIdentified = false, onLimit = () => {} } = options
    this.#socket = socket
    this.#clock = clock
    this.#requestTimeoutMs = requestTimeoutMs
    this.#maxStreams = maxStreams
    this.#isIdentified = isIdentified
    const maxConcurrent = isIdentified ? maxStreams.identified : maxStreams.anonymous
    this.#onLimit = onLimit
    this.#idle = { lastId: 0, sinceMs: clock.monotonic() }
    this.#idleFrames = new TokenBucket(clock, idleFrameLimits)
    this.#reader = new FrameReader((type, flags, streamId, payload) => this.#onFrame(type, flags, streamId, payload))
    this.#outbox = new Outbox(socket, {
      complete: (stream) => this.#streams.answered(stream),
      idle: () => this.#closeWhenDrained(),
      fail: (error) => this.#fail(error),
    })
    const fail = (error: ConnectionError): void => this.#fail(error)
    this.#streams = new Streams(socket, this.#outbox, {
      clock,
      onRequest,
      maxConcurrent,
      fail,
      onLimit: (limit) => onLimit(limit === 'streams' ? this.#streamLimit : limit),
    })
    socket.setNoDelay(true)
    socket.on('data', (chunk: Buffer) => this.#receive(chunk))
    this.#takeAtOnce(socket)
    for (const event of ['end', 'error', 'close']) socket.on(event, () => this.destroy())
    this.#outbox.send(
      frameOf(FrameType.settings, 0, 0, [
        ...setting(Setting.maxConcurrentStreams, maxConcurrent),
        ...setting(Setting.initialWindowSize, streamReceiveWindow),
        ...setting(Setting.maxHeaderListSize, maxHeaderListBytes),
      ]),
    )
    this.#outbox.send(windowUpdate(0, connectionReceiveWindow - defaultWindow))
    this.#watchDeadlines()
  }

  /** The client has shown valid credentials: it may open more streams. */
  identified(): void {
    if (this.#isIdentified) return
    this.#isIdentified = true
    this.#streams.maxConcurrent = this.#maxStreams.identified
    const more = setting(Setting.maxConcurrentStreams, this.#maxStreams.identified)
    this.#outbox.send(frameOf(FrameType.settings, 0, 0, more))
  }

  get #streamLimit(): Http2Limit {
    return this.#isIdentified ? 'http2MaxStreamsPerConnection' : 'http2MaxStreamsPerAnonymousConnection'
  }

  /** Ends when no stream has been open for so long, as upstream's IdleTimeout; true when it does now. */
  endIfIdle(idleMs: number): boolean {
    const nowMs = this.#clock.monotonic()
    const { lastId, size } = this.#streams
    if (size > 0 || lastId !== this.#idle.lastId) this.#idle = { lastId, sinceMs: nowMs }
    else if (nowMs - this.#idle.sinceMs >= idleMs && !this.#streams.draining) {
      this.close()
      return true
    }
    return false
  }

  /** Takes no new requests, and ends when those under way are answered. */
  close(): void {
    if (this.#streams.draining || this.#closed) return
    this.#streams.draining = true
    this.#outbox.send(goAway(this.#streams.lastId))
  }

  /** Ends at once, with a last frame if there is one. */
  destroy(last?: Buffer): void {
    if (this.#closed) return
    this.#closed = true
    this.#deadline?.cancel()
    this.#outbox.close(last)
    // A client that does not read does not end the connection either.
    if (!this.#socket.destroyed) {
      this.#clock.setTimer(farewellMs, () => this.#socket.destroy(), { background: true })
    }
    this.#streams.endAll()
  }

  /**
   * Takes what arrives as the socket pushes it, unless something waits before it. A `data` event would make Node look
   * for more in a tick of its own, which costs 4 % of a get.
   */
  #takeAtOnce(socket: TLSSocket): void {
    const { push } = socket
    const take = (chunk: Buffer | null): boolean => {
      if (!chunk || !socket.readableFlowing || socket.readableLength > 0) return push.call(socket, chunk)
      this.#receive(chunk)
      return true
    }
    socket.push = take
  }

  #closeWhenDrained(): void {
    if (this.#streams.draining && this.#streams.size === 0) this.destroy()
  }

  #receive(chunk: Buffer): void {
    const { lastId } = this.#streams
    this.#guard(() => this.#reader.push(chunk))
    this.#work += chunk.length + ((this.#streams.lastId - lastId) / 2) * requestBytes
    if (this.#work < turnBytes || this.#closed) return
    this.#work = 0
    this.#socket.pause()
    setImmediate(() => this.#socket.resume())
  }

  /** Runs the work, and ends the connection if it breaks a rule of the connection. */
  #guard(work: () => void): void {
    if (this.#closed) return
    try {
      work()
    } catch (error) {
      if (!(error instanceof ConnectionError)) throw error
      this.#fail(error)
    }
    if (this.#streams.hasIncomplete || this.#block) this.#watchDeadlines()
  }

  #fail(error: ConnectionError): void {
    if (error instanceof TooMuch && !this.#closed) this.#onLimit(error.limit)
    this.destroy(goAway(this.#streams.lastId, error.code))
  }

  /** `sinceMs`: when the oldest request that is not complete was opened. Default: now. */
  #watchDeadlines(sinceMs = this.#clock.monotonic()): void {
    this.#deadline ??= this.#clock.setTimer(
      sinceMs + this.#requestTimeoutMs - this.#clock.monotonic(),
      () => {
        this.#deadline = undefined
        if (!this.#settingsSeen) this.#giveUp()
        this.#guard(() => this.#endOverdue())
      },
      { background: true },
    )
  }

  #endOverdue(): void {
    const blockMs = this.#block?.openedMs ?? Number.POSITIVE_INFINITY
    if (blockMs <= this.#clock.monotonic() - this.#requestTimeoutMs) {
      throw calmDown('a head that is never complete', 'requestReadTimeout')
    }
    const oldestMs = Math.min(blockMs, this.#streams.endOverdue(this.#requestTimeoutMs))
    if (oldestMs !== Number.POSITIVE_INFINITY && !this.#closed) this.#watchDeadlines(oldestMs)
  }

  /** The client has not even begun. */
  #giveUp(): void {
    this.#onLimit('requestReadTimeout')
    this.destroy(goAway(0))
  }

  #onFrame(type: number, flags: number, streamId: number, payload: Buffer): void {
    if (this.#closed) return
    try {
      this.#take(type, flags, streamId, payload)
    } catch (error) {
      if (!(error instanceof StreamError)) throw error
      this.#streams.reset(error.streamId, error.code)
    }
  }

  #take(type: number, flags: number, streamId: number, payload: Buffer): void {
    if (!this.#settingsSeen && type !== FrameType.settings) throw protocolError('the first frame is not SETTINGS')
    if (this.#block && (type !== FrameType.continuation || streamId !== this.#block.streamId)) {
      throw protocolError('a head is not complete')
    }
    switch (type) {
      case FrameType.data:
        if (this.#streams.data(streamId, flags, payload)) this.#countIdleFrame()
        break
      case FrameType.headers:
        this.#block = new HeaderBlock(streamId, flags, payload, this.#clock.monotonic())
        this.#onBlock(this.#block, flags)
        break
      case FrameType.continuation:
        if (!this.#block) throw protocolError('a CONTINUATION of nothing')
        this.#block.append(payload)
        this.#onBlock(this.#block, flags)
        break
      case FrameType.resetStream:
        assertLength(payload, 4)
        this.#streams.resetByClient(streamId)
        break
      case FrameType.windowUpdate:
        this.#onWindowUpdate(streamId, payload)
        break
      case FrameType.settings:
        this.#onSettings(flags, streamId, payload)
        break
      case FrameType.pushPromise:
        throw protocolError('a client does not push')
      default:
        this.#onIdleFrame(type, flags, streamId, payload)
    }
  }

  #onBlock(block: HeaderBlock, flags: number): void {
    if (!(flags & Flag.endHeaders)) return
    this.#block = undefined
    const { streamId, endStream, selfDependent, bytes } = block
    if (streamId <= this.#streams.lastId) {
      const problem = trailersProblem(this.#decoder, bytes)
      if (this.#streams.trailers(streamId, endStream, problem)) this.#countIdleFrame()
      return
    }
    const head = decodeRequestHead(this.#decoder, bytes)
    this.#streams.open(block, selfDependent ? { problem: 'it depends on itself' } : head)
  }

  #onWindowUpdate(streamId: number, payload: Buffer): void {
    assertLength(payload, 4)
    const by = payload.readUInt32BE(0) & 0x7fffffff
    if (streamId !== 0) this.#streams.widen(streamId, by)
    else if (by === 0) throw protocolError('a WINDOW_UPDATE of 0')
    else if (!this.#outbox.widen(by)) throw new ConnectionError(ErrorCode.flowControlError, 'the window')
  }

  #onSettings(flags: number, streamId: number, payload: Buffer): void {
    assertConnectionFrame(streamId)
    this.#countIdleFrame()
    if (flags & Flag.ack) {
      assertLength(payload, 0)
      return
    }
    if (payload.length % 6 !== 0) throw new ConnectionError(ErrorCode.frameSizeError, 'SETTINGS')
    this.#settingsSeen = true
    let initialWindow: number | undefined
    for (let at = 0; at < payload.length; at += 6) {
      const name = payload.readUInt16BE(at)
      const value = payload.readUInt32BE(at + 2)
      this.#set(name, value)
      if (name === Setting.initialWindowSize) initialWindow = value
    }
    // Only the last value of a frame lasts, and each change touches every open stream: the frame costs as much as it
    // touches.
    if (initialWindow !== undefined) {
      this.#countIdleFrame(Math.floor(this.#streams.size / streamsPerToken))
      this.#streams.setInitialWindow(initialWindow)
    }
    this.#outbox.send(frameOf(FrameType.settings, Flag.ack, 0, []))
  }

  #set(name: number, value: number): void {
    if (name === Setting.enablePush && value > 1) throw protocolError('ENABLE_PUSH is neither 0 nor 1')
    if (name === Setting.maxFrameSize) {
      if (value < defaultMaxFrameSize || value >= 2 ** 24) throw protocolError('MAX_FRAME_SIZE is out of range')
      this.#streams.maxFrameSize = value
    }
    if (name === Setting.initialWindowSize && value > maxWindow) {
      throw new ConnectionError(ErrorCode.flowControlError, 'INITIAL_WINDOW_SIZE')
    }
  }

  #onIdleFrame(type: number, flags: number, streamId: number, payload: Buffer): void {
    this.#countIdleFrame()
    if (type === FrameType.ping) {
      assertConnectionFrame(streamId)
      assertLength(payload, 8)
      if (!(flags & Flag.ack)) this.#outbox.send(frameOf(FrameType.ping, Flag.ack, 0, [...payload]))
    } else if (type === FrameType.goAway) {
      assertConnectionFrame(streamId)
    } else if (type === FrameType.priority) {
      if (streamId === 0) throw protocolError('a PRIORITY of the connection')
      if (payload.length !== 5) throw new StreamError(ErrorCode.frameSizeError, streamId, 'PRIORITY')
      if (dependsOnItself(streamId, payload)) throw malformed(streamId, 'it depends on itself')
    }
  }

  #countIdleFrame(cost = 1): void {
    if (!this.#idleFrames.take(cost)) throw calmDown('too many frames for nothing')
  }
}
