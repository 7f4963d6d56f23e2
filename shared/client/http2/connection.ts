import type { TLSSocket } from 'node:tls'
import { frameOf, resetStream, windowUpdate } from '../../http2/frames.ts'
import { ErrorCode, Flag, FrameType, maxWindow, Setting } from '../../http2/protocol.ts'
import { TokenBucket } from '../../http2/token-bucket.ts'
import { PlainSink, StreamSink } from '../answer-sinks.ts'
import {
  type Cancellation,
  NoHttp2Error,
  type PlainAnswer,
  type PlainRequest,
  StaleConnectionError,
  type StreamedAnswer,
  type TransportOptions,
  untouched,
} from '../transport.ts'
import { type FrameHead, FrameSplitter, withoutPadding } from './frame-splitter.ts'
import { commonHead, greeting, headFrames, requestHead, statusIn } from './frames.ts'
import { Http2Outbox } from './outbox.ts'
import { type Asked, openSocket, type Stream } from './stream.ts'

export interface Http2ConnectionOptions extends TransportOptions {
  /** No request is to be given to it any more. */
  onRetired(): void
  onClosed(): void
}

/** The server is told about received bytes each time this many have arrived. */
const announceBytes = 16 * 1024 * 1024
const noBytes = Buffer.alloc(0)
/** Frames that carry nothing of an answer: Go's servers send few, and a flood of them is an attack. */
const idleFrameLimits = { burst: 10_000, perSecond: 1_000 }
/** An answer may bring this many more of them: above all, windows for the request's body. */
const idleFramesOfAnswer = 1_000
/** Gives the valid sizes of a frame's payload: `exactly` so many bytes, or `least`, or a multiple of `each`. */
const sizes: Readonly<Record<number, { exactly?: number; least?: number; each?: number }>> = {
  [FrameType.resetStream]: { exactly: 4 },
  [FrameType.settings]: { each: 6 },
  [FrameType.ping]: { exactly: 8 },
  [FrameType.goAway]: { least: 8 },
  [FrameType.windowUpdate]: { exactly: 4 },
}
const names = new Map<number, string>(Object.entries(FrameType).map(([name, type]) => [type, name]))
/**
 * The client's side of one HTTP/2 connection (RFC 9113), for bodies that fit into memory, and answers that need not:
 * all that is asked in one turn of the event loop leaves in one write. It spends two thirds of the time that HTTP/1.1
 * takes for small requests, and so does our server.
 */
export class Http2Connection {
  readonly #socket: TLSSocket
  readonly #outbox: Http2Outbox
  readonly #onRetired: () => void
  readonly #common: string
  readonly #streams = new Map<number, Stream>()
  /** Requests that wait, in the order in which they came. */
  readonly #waiting = new Set<Asked>()
  #isReady = false
  #isRetired = false
  #hasAnswered = false
  #nextId = 1
  /** Requests that are under way, streams not counted, and how many may be. */
  #underway = 0
  #most: number
  readonly #maxRequests: number
  #received = 0
  /** Counts the reads from the socket. */
  #reads = 0
  readonly #splitter = new FrameSplitter((head, payload) => this.#onFrame(head, payload))
  readonly #idleFrames: TokenBucket
  #failure: Error | undefined

  constructor({ clock, tls, authority, headers, maxRequests, onRetired, onClosed }: Http2ConnectionOptions) {
    this.#idleFrames = new TokenBucket(clock, idleFrameLimits)
    this.#maxRequests = maxRequests
    this.#most = maxRequests
    this.#onRetired = onRetired
    this.#common = commonHead(authority, headers)
    this.#socket = openSocket(tls, (data) => this.#read(data))
    this.#outbox = new Http2Outbox(this.#socket)
    this.#socket.on('secureConnect', () => this.#begin())
    this.#socket.on('error', (error) => {
      this.#failure ??= error
    })
    this.#socket.on('end', () => this.#socket.destroy())
    this.#socket.on('close', () => {
      this.#endAll()
      onClosed()
    })
  }

  get isIdle(): boolean {
    return this.#streams.size === 0 && this.#waiting.size === 0
  }

  request(request: PlainRequest, cancellation: Cancellation): Promise<PlainAnswer> {
    return new Promise((resolve, reject) => {
      const sink = new PlainSink({ unread: request.unread ?? false, resolve, reject })
      const asked: Asked = { request, sink, isStream: false }
      const before = this.#reads
      this.#add(asked)
      cancellation.whenCancelled((error) => {
        this.#cancel(asked, error)
        // Without any answer, another connection may reach the server.
        if (this.#reads === before) this.destroy(new Error('the server has stopped sending', { cause: error }))
      })
    })
  }

  /** Resolves with the head of the answer. */
  async stream(path: string, signal: AbortSignal): Promise<StreamedAnswer> {
    const abort = (): void => this.#cancel(asked, new Error('the request was aborted'))
    const leave = (): void => {
      signal.removeEventListener('abort', abort)
      abort()
    }
    const sink = new StreamSink(leave)
    const asked: Asked = { request: { method: 'GET', path }, sink, isStream: true }
    signal.addEventListener('abort', abort)
    this.#add(asked)
    try {
      return { status: await sink.head, statusText: '', body: sink }
    } catch (error) {
      leave()
      throw error
    }
  }

  destroy(error: Error): void {
    this.#failure = error
    this.#endAll()
    this.#socket.destroy()
  }

  /** Ends when all that was asked is answered. */
  retire(): void {
    if (this.#isRetired) return
    this.#isRetired = true
    this.#onRetired()
    this.#refuse(untouched(this.#failure))
    this.#settle()
  }

  #begin(): void {
    if (this.#socket.alpnProtocol !== 'h2') {
      this.destroy(new NoHttp2Error('the server does not speak HTTP/2'))
      return
    }
    this.#isReady = true
    this.#outbox.send(greeting)
    this.#next()
  }

  #add(asked: Asked): void {
    this.#waiting.add(asked)
    this.#socket.ref()
    this.#next()
  }

  #next(): void {
    if (!this.#isReady) return
    for (const asked of this.#waiting) {
      if (!asked.isStream && this.#underway >= this.#most) return
      this.#waiting.delete(asked)
      this.#ask(asked)
    }
  }

  #ask(asked: Asked): void {
    const { request, sink, isStream } = asked
    const id = this.#nextId
    this.#nextId += 2
    const body = request.body === undefined ? undefined : Buffer.from(request.body)
    const stream: Stream = {
      id,
      sink,
      isStream,
      status: 0,
      received: 0,
      unsent: body,
      window: this.#outbox.streamWindow,
    }
    asked.stream = stream
    this.#streams.set(id, stream)
    if (!isStream) this.#underway++
    const head = requestHead(request, { bodyBytes: body?.length, rest: this.#common })
    this.#outbox.send(headFrames(id, head, body === undefined))
    this.#outbox.sendBody(stream)
    if (this.#nextId > maxWindow) this.retire()
  }

  /** Cancels a request whose answer is no longer wanted. */
  #cancel(asked: Asked, error: Error): void {
    const { stream, sink } = asked
    if (stream && this.#streams.has(stream.id)) this.#abandon(stream, error)
    else if (this.#waiting.delete(asked)) {
      sink.onError(error)
      this.#settle()
    }
  }

  #abandon(stream: Stream, error: Error): void {
    this.#reset(stream.id)
    this.#end(stream)
    stream.sink.onError(error)
    this.#settle()
  }

  #reset(id: number): void {
    this.#outbox.send(resetStream(id, ErrorCode.cancel))
  }

  #read(chunk: Buffer): void {
    this.#reads++
    try {
      this.#splitter.push(chunk)
    } catch (error) {
      this.destroy(error as Error)
    }
  }

  #onFrame({ type, flags, id }: FrameHead, payload: Buffer): void {
    this.#check(type, id, payload)
    if (type === FrameType.data) this.#onData(id, flags, payload)
    else if (type === FrameType.headers) this.#onHead(id, flags, payload)
    else if (type === FrameType.windowUpdate) this.#onWindow(id, payload.readUInt32BE(0) & maxWindow)
    else if (type === FrameType.resetStream) this.#onReset(id, payload.readUInt32BE(0))
    else if (type === FrameType.goAway) this.#onGoAway(payload.readUInt32BE(0) & maxWindow)
    else if (flags & Flag.ack) return
    else if (type === FrameType.settings) this.#onSettings(payload)
    else if (type === FrameType.ping) this.#outbox.answer(frameOf(FrameType.ping, Flag.ack, 0, payload))
  }

  /** Throws for what no server may send to a client that allows no pushes. */
  #check(type: number, id: number, payload: Buffer): void {
    const { length } = payload
    if (type === FrameType.pushPromise) throw new Error('the server pushed a stream that was not requested')
    if (id >= this.#nextId || (id !== 0 && id % 2 === 0)) throw new Error(`the server opened a stream, ${id}`)
    const { exactly = length, least = 0, each = 1 } = sizes[type] ?? {}
    if (length !== exactly || length < least || length % each !== 0)
      throw new Error(`the server sent a ${names.get(type)} frame of ${length} bytes`)
    const isOfAnswer = type === FrameType.headers || (type === FrameType.data && length > 0)
    if (!isOfAnswer) this.#countIdle()
  }

  #countIdle(): void {
    if (!this.#idleFrames.take()) throw new Error('the server floods the connection with frames that carry no answer')
  }

  #onHead(id: number, flags: number, block: Buffer): void {
    const stream = this.#streams.get(id)
    const isFirst = stream !== undefined && stream.status < 200
    // Another head after the answer's own says nothing that is of interest.
    if (isFirst) this.#readStatus(stream, block)
    if (!isFirst || stream.status < 200) this.#countIdle()
    if (stream && flags & Flag.endStream) this.#complete(stream)
  }

  #readStatus(stream: Stream, block: Buffer): void {
    const status = statusIn(block)
    if (status === undefined || status < 100) throw new Error('the server sent an answer without its status')
    stream.status = status
    if (status >= 200) stream.sink.onHead(status)
  }

  #onData(id: number, flags: number, payload: Buffer): void {
    this.#received = this.#announce(0, this.#received + payload.length)
    const stream = this.#streams.get(id)
    if (!stream) {
      this.#countIdle()
      return
    }
    const isEnd = (flags & Flag.endStream) !== 0
    if (stream.status < 200) throw new Error('the server sent a body before its head')
    const part = withoutPadding(flags & Flag.padded, payload)
    if (!isEnd) stream.received = this.#announce(id, stream.received + payload.length)
    try {
      stream.sink.onData(part, isEnd)
    } catch (error) {
      this.#abandon(stream, error as Error)
      return
    }
    if (isEnd) this.#complete(stream)
  }

  /** The server may send as much again. Returns what it has not been told of. */
  #announce(id: number, received: number): number {
    if (received < announceBytes) return received
    this.#outbox.send(windowUpdate(id, received))
    return 0
  }

  #complete(stream: Stream): void {
    if (stream.status < 200) throw new Error('the server ended an answer before its head')
    this.#hasAnswered = true
    this.#idleFrames.give(idleFramesOfAnswer)
    if (stream.unsent) this.#reset(stream.id)
    this.#end(stream)
    stream.sink.onEnd()
  }

  #end(stream: Stream): void {
    this.#streams.delete(stream.id)
    if (!stream.isStream) this.#underway--
    this.#next()
    this.#settle()
  }

  #onReset(id: number, code: number): void {
    const stream = this.#streams.get(id)
    if (!stream) return
    this.#end(stream)
    const error = new Error(`the server ended the request, code ${code}`)
    stream.sink.onError(code === ErrorCode.refusedStream ? untouched(error) : error)
  }

  #onSettings(payload: Buffer): void {
    const values = new Map<number, number>()
    for (let at = 0; at < payload.length; at += 6) values.set(payload.readUInt16BE(at), payload.readUInt32BE(at + 2))
    this.#most = Math.min(values.get(Setting.maxConcurrentStreams) ?? this.#most, this.#maxRequests)
    const window = values.get(Setting.initialWindowSize)
    if (window !== undefined) this.#outbox.setStreamWindow(window, this.#streams.values())
    this.#outbox.answer(frameOf(FrameType.settings, Flag.ack, 0, noBytes))
    this.#next()
  }

  #onWindow(id: number, by: number): void {
    const body = this.#streams.get(id)
    // A window update of an ended stream has no effect.
    if (id === 0 || body) this.#outbox.widen(by, { body, all: this.#streams.values() })
  }

  #onGoAway(lastId: number): void {
    this.retire()
    for (const stream of [...this.#streams.values()]) {
      if (stream.id <= lastId) continue
      this.#end(stream)
      stream.sink.onError(untouched(undefined))
    }
  }

  /** No request waits on it: it does not keep the process, and closes if it is not wanted any more. */
  #settle(): void {
    if (!this.isIdle) return
    this.#socket.unref()
    // A server that does not end its side would keep the connection for good.
    if (this.#isRetired) this.#socket.destroySoon()
  }

  #endAll(): void {
    const cause = this.#failure ?? new Error('the connection was closed in the middle of an answer')
    this.#failure = cause
    const streams = [...this.#streams.values()]
    this.#streams.clear()
    for (const { status, sink } of streams) {
      const isStale = this.#hasAnswered && status === 0
      sink.onError(isStale ? new StaleConnectionError('connection closed by the server', { cause }) : cause)
    }
    this.#refuse(this.#hasAnswered ? untouched(cause) : cause)
    this.retire()
  }

  #refuse(error: Error): void {
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const { sink } of waiting) sink.onError(error)
  }
}
