import type { TLSSocket } from 'node:tls'
import type { Clock } from '../../clock/clock.ts'
import { httpDate } from '../../clock/timestamp.ts'
import { resetStream, windowUpdate } from '../frames.ts'
import { noTable } from '../hpack/header-encoder.ts'
import {
  ConnectionError,
  defaultMaxFrameSize,
  defaultWindow,
  ErrorCode,
  Flag,
  maxWindow,
  StreamError,
} from '../protocol.ts'
import { TokenBucket } from '../token-bucket.ts'
import { calmDown, malformed, protocolError, unpadded } from './frame-checks.ts'
import type { HeaderBlock } from './header-block.ts'
import type { Outbox } from './outbox.ts'
import { Http2Request } from './request.ts'
import type { DecodedHead } from './request-head.ts'
import { Http2Response } from './response.ts'
import { connectionReceiveWindow, type ServerStream, streamReceiveWindow } from './stream.ts'
import type { StreamOwner } from './stream-owner.ts'

export type OnRequest = (request: Http2Request, response: Http2Response) => void

export interface StreamsOptions {
  clock: Clock
  onRequest: OnRequest
  maxConcurrent: number
  /** The connection cannot go on. */
  fail(error: ConnectionError): void
  onLimit(limit: 'streams' | 'requestHead' | 'requestReadTimeout'): void
}

/** Streams that end before their time: many watches come and go at once, but not for ever. */
const resetLimits = { burst: 10_000, perSecond: 1_000 }
/** Streams that we ended, of which the client may not have heard: what it still sends on them is dropped. */
const rememberedResets = 100

/** The streams of one connection: their requests, what may still be sent either way, and how they end. */
export class Streams implements StreamOwner {
  readonly #socket: TLSSocket
  readonly #outbox: Outbox
  readonly #clock: Clock
  readonly #onRequest: OnRequest
  readonly #fail: StreamsOptions['fail']
  readonly #onLimit: StreamsOptions['onLimit']
  readonly #open = new Map<number, ServerStream>()
  readonly #ownResets = new Set<number>()
  readonly #resets: TokenBucket
  maxConcurrent: number
  #isFirstHead = true
  #initialWindow = defaultWindow
  #receiveWindow = connectionReceiveWindow
  /** Bytes that were read since the client was last told. */
  #unannounced = 0
  #incomplete = 0
  maxFrameSize = defaultMaxFrameSize
  /** The highest number that the client has used. */
  lastId = 0
  /** No new ones are taken. */
  draining = false

  constructor(socket: TLSSocket, outbox: Outbox, { clock, onRequest, maxConcurrent, fail, onLimit }: StreamsOptions) {
    this.#socket = socket
    this.#outbox = outbox
    this.#clock = clock
    this.#onRequest = onRequest
    this.maxConcurrent = maxConcurrent
    this.#fail = fail
    this.#onLimit = onLimit
    this.#resets = new TokenBucket(clock, resetLimits)
  }

  get size(): number {
    return this.#open.size
  }
  /** True if there are requests whose body has not arrived completely. */
  get hasIncomplete(): boolean {
    return this.#incomplete > 0
  }

  /** Opens a stream whose head is complete. The head was decoded even if the stream is refused. */
  open({ streamId: id, endStream, openedMs }: HeaderBlock, head: DecodedHead): void {
    this.lastId = id
    const isFull = this.size >= this.maxConcurrent
    if (isFull) this.#onLimit('streams')
    if (this.draining || isFull) throw new StreamError(ErrorCode.refusedStream, id, 'no more')
    if (head !== 'too large' && 'problem' in head) throw malformed(id, head.problem)
    const contentLength = head === 'too large' ? -1 : head.contentLength
    if (endStream && contentLength > 0) throw malformed(id, 'a content-length without content')
    const what = head === 'too large' ? { method: 'GET', path: '/', headers: {} } : head
    const request = new Http2Request(id, what, { socket: this.#socket, owner: this })
    const response = new Http2Response(id, this, this.#initialWindow)
    const stream: ServerStream = {
      id,
      request,
      response,
      openedMs,
      remoteEnded: endStream,
      bodyLeft: contentLength,
      receiveWindow: streamReceiveWindow,
      unannounced: 0,
    }
    this.#open.set(id, stream)
    if (endStream) request.receiveEnd()
    else this.#incomplete++
    if (head === 'too large') {
      this.#onLimit('requestHead')
      response.writeHead(431).end()
    } else this.#onRequest(request, response)
  }

  /**
   * A head on a stream that there is already: it can only be the end of the request. Returns whether it was of no use
   * at all.
   */
  trailers(id: number, endStream: boolean, problem: string | undefined): boolean {
    const stream = this.#open.get(id)
    if (!stream && this.#ownResets.has(id)) return true
    if (!stream) throw new ConnectionError(ErrorCode.streamClosed, 'HEADERS after the end')
    if (stream.remoteEnded) throw new StreamError(ErrorCode.streamClosed, id, 'HEADERS after the end')
    if (problem !== undefined || !endStream) throw malformed(id, problem ?? 'trailers are not the end')
    this.#endRequest(stream)
    return false
  }

  /** Takes a DATA frame. Returns whether it was of no use at all. */
  data(id: number, flags: number, payload: Buffer): boolean {
    this.assertNotIdle(id)
    this.#receiveWindow -= payload.length
    if (this.#receiveWindow < 0) throw new ConnectionError(ErrorCode.flowControlError, 'DATA beyond the window')
    const data = unpadded(flags, payload)
    const stream = this.#open.get(id)
    if (!stream || stream.remoteEnded) {
      this.#dropped(payload.length)
      if (this.#ownResets.has(id)) return true
      throw new StreamError(ErrorCode.streamClosed, id, 'DATA after the end')
    }
    stream.receiveWindow -= payload.length
    if (stream.receiveWindow < 0) throw new StreamError(ErrorCode.flowControlError, id, 'DATA beyond the window')
    this.consumed(id, payload.length - data.length)
    if (stream.bodyLeft >= 0) {
      stream.bodyLeft -= data.length
      if (stream.bodyLeft < 0) throw malformed(id, 'more DATA than announced')
    }
    stream.request.receive(data)
    const isEnd = (flags & Flag.endStream) !== 0
    if (isEnd) this.#endRequest(stream)
    return data.length === 0 && !isEnd
  }

  #endRequest(stream: ServerStream): void {
    if (stream.bodyLeft > 0) throw malformed(stream.id, 'less DATA than announced')
    stream.remoteEnded = true
    this.#incomplete--
    stream.request.receiveEnd()
  }

  resetByClient(id: number): void {
    this.assertNotIdle(id)
    const stream = this.#open.get(id)
    if (!stream) return
    this.#countReset()
    this.#end(stream)
  }

  /** Handles a WINDOW_UPDATE of a stream. */
  widen(id: number, by: number): void {
    this.assertNotIdle(id)
    if (by === 0) throw malformed(id, 'a WINDOW_UPDATE of 0')
    const stream = this.#open.get(id)
    if (!stream) return
    stream.response.window += by
    if (stream.response.window > maxWindow) throw new StreamError(ErrorCode.flowControlError, id, 'the window')
    this.#outbox.ready(stream)
  }

  /** INITIAL_WINDOW_SIZE: for those to come, and by its difference for those that are open. */
  setInitialWindow(size: number): void {
    for (const stream of this.#open.values()) {
      stream.response.window += size - this.#initialWindow
      if (stream.response.window > maxWindow) throw new ConnectionError(ErrorCode.flowControlError, 'the window')
      this.#outbox.ready(stream)
    }
    this.#initialWindow = size
  }

  assertNotIdle(id: number): void {
    if (id === 0 || id > this.lastId) throw protocolError('a frame of a stream that was never opened')
  }

  /** The answer is complete. A client that is still sending gets a reset without an error. */
  answered(stream: ServerStream): void {
    if (stream.remoteEnded) this.#end(stream)
    else this.reset(stream.id, ErrorCode.noError)
  }

  reset(id: number, code: ErrorCode): void {
    const stream = this.#open.get(id)
    this.#ownResets.add(id)
    for (const oldest of this.#ownResets) {
      if (this.#ownResets.size <= rememberedResets) break
      this.#ownResets.delete(oldest)
    }
    this.#outbox.send(resetStream(id, code))
    if (stream) this.#end(stream)
    // A client that causes this gains as much as by a reset of its own.
    if (code !== ErrorCode.noError) this.#countReset()
  }

  #countReset(): void {
    if (!this.#resets.take()) this.#fail(calmDown('too many streams reset'))
  }

  #end(stream: ServerStream): void {
    if (!this.#open.delete(stream.id)) return
    if (!stream.remoteEnded) this.#incomplete--
    this.#outbox.drop(stream)
    this.#dropped(stream.request.discard())
    stream.request.abort()
    stream.response.close()
  }

  /** Ends those whose request should have been complete by now. Returns when the oldest of the others was opened. */
  endOverdue(timeoutMs: number): number {
    const openedBy = this.#clock.monotonic() - timeoutMs
    let oldestMs = Number.POSITIVE_INFINITY
    for (const { id, remoteEnded, openedMs } of this.#open.values()) {
      if (remoteEnded) continue
      if (openedMs > openedBy) {
        oldestMs = Math.min(oldestMs, openedMs)
        continue
      }
      this.#onLimit('requestReadTimeout')
      this.reset(id, ErrorCode.cancel)
    }
    return oldestMs
  }

  /** The connection is gone. */
  endAll(): void {
    for (const stream of this.#open.values()) this.#end(stream)
  }

  ready(id: number): void {
    const stream = this.#open.get(id)
    if (stream) this.#outbox.ready(stream)
  }

  consumed(id: number, bytes: number): void {
    this.#dropped(bytes)
    const stream = this.#open.get(id)
    if (!stream || stream.remoteEnded) return
    stream.receiveWindow += bytes
    stream.unannounced += bytes
    if (stream.unannounced < streamReceiveWindow / 2) return
    this.#outbox.send(windowUpdate(id, stream.unannounced))
    stream.unannounced = 0
  }

  /** Tells the client that it may send as many bytes again as were read or dropped. */
  #dropped(bytes: number): void {
    this.#receiveWindow += bytes
    this.#unannounced += bytes
    if (this.#unannounced < connectionReceiveWindow / 2) return
    this.#outbox.send(windowUpdate(0, this.#unannounced))
    this.#unannounced = 0
  }

  date(): string {
    return httpDate(this.#clock.now())
  }

  headPrefix(): number | undefined {
    return this.#isFirstHead ? noTable : undefined
  }

  headWritten(): void {
    this.#isFirstHead = false
  }
}
