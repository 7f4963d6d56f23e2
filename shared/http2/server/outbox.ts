import type { TLSSocket } from 'node:tls'
import { type ConnectionError, defaultWindow, maxWindow } from '../protocol.ts'
import { FrameBuffer } from './frame-buffer.ts'
import { calmDown } from './frame-checks.ts'
import { soon } from './soon.ts'
import type { ServerStream } from './stream.ts'

/** Answers to pings, settings and the like that a client who does not read may leave lying. */
const maxControlFrames = 10_000

const buffer = new FrameBuffer()

export interface OutboxEvents {
  complete(stream: ServerStream): void
  idle(): void
  /** The connection cannot go on. */
  fail(error: ConnectionError): void
}

/**
 * Sends a connection's frames. All frames of one turn of the event loop leave in one write, and the streams take turns.
 * The next write waits until the socket has accepted the previous one; until then bodies wait where their writers can
 * see them.
 */
export class Outbox {
  readonly #socket: TLSSocket
  readonly #on: OutboxEvents
  #control: Buffer[] = []
  readonly #ready = new Set<ServerStream>()
  /** Streams that only the window of the connection holds back; none of them is in `#ready`. */
  readonly #starved = new Set<ServerStream>()
  #window = defaultWindow
  #scheduled = false
  #writing = false
  #closed = false

  constructor(socket: TLSSocket, on: OutboxEvents) {
    this.#socket = socket
    this.#on = on
  }

  get isIdle(): boolean {
    return !this.#writing && this.#control.length === 0 && this.#ready.size === 0 && this.#starved.size === 0
  }

  /** A frame that is not subject to flow control. */
  send(frame: Buffer): void {
    if (this.#closed) return
    if (this.#control.length > maxControlFrames) {
      this.#on.fail(calmDown('the client does not read the answers to its control frames'))
      return
    }
    this.#control.push(frame)
    this.#schedule()
  }

  /** The stream may have something to send. */
  ready(stream: ServerStream): void {
    if (!stream.response.hasSendable || this.#starved.has(stream)) return
    this.#ready.add(stream)
    this.#schedule()
  }

  drop(stream: ServerStream): void {
    this.#ready.delete(stream)
    this.#starved.delete(stream)
  }

  /** The client takes more. False when that is more than there can be. */
  widen(by: number): boolean {
    this.#window += by
    if (this.#canFeed) this.#schedule()
    return this.#window <= maxWindow
  }

  /** Sends the last frame, and then nothing more. */
  close(last?: Buffer): void {
    if (this.#closed) return
    this.#closed = true
    this.#ready.clear()
    this.#starved.clear()
    if (!this.#socket.destroyed && last) this.#socket.write(Buffer.concat([...this.#control, last]))
    this.#control = []
    this.#socket.destroySoon()
  }

  /** True if a starved stream could send now. */
  get #canFeed(): boolean {
    return this.#window > 0 && this.#starved.size > 0
  }

  #schedule(): void {
    if (this.#scheduled || this.#writing || this.#closed) return
    this.#scheduled = true
    soon.then(this.#flushSoon)
  }

  flush(): void {
    this.#scheduled = false
    if (this.#writing || this.#closed) return
    buffer.clear()
    this.#fillControl()
    const touched = this.#fillStreams()
    if (buffer.length === 0) return
    this.#writing = true
    this.#socket.write(buffer.view(), this.#onWritten)
    for (const stream of touched) {
      if (stream.response.destroyed) continue
      if (stream.response.complete) this.#on.complete(stream)
      else stream.response.notifyDrained()
    }
  }

  readonly #flushSoon = (): void => this.flush()

  readonly #onWritten = (): void => {
    this.#writing = false
    if (this.#control.length > 0 || this.#ready.size > 0 || this.#canFeed) this.flush()
    if (this.isIdle) this.#on.idle()
  }

  #fillControl(): void {
    let sent = 0
    for (const frame of this.#control) {
      if (frame.length > buffer.room) break
      buffer.copy(frame, 0, frame.length)
      sent++
    }
    this.#control = sent === this.#control.length ? [] : this.#control.slice(sent)
  }

  /**
   * Fills the write from the streams. The streams that have waited longest for the connection's window come first. Each
   * step sends at least a byte, or sets aside a stream that cannot send: the work is bounded by what is sent and by how
   * often streams become ready.
   */
  #fillStreams(): ServerStream[] {
    const touched: ServerStream[] = []
    for (const stream of this.#starved) {
      if (this.#window <= 0) break
      if (!this.#fill(stream, touched)) return touched
      this.#starved.delete(stream)
      if (stream.response.hasSendable) (this.#window > 0 ? this.#ready : this.#starved).add(stream)
    }
    for (const stream of this.#ready) {
      const mayStarve = this.#window <= 0 && stream.response.needsWindow
      if (!mayStarve && !this.#fill(stream, touched)) return touched
      this.#ready.delete(stream)
      // A stream that has more than its turn's worth goes to the end of the queue.
      if (mayStarve) this.#starved.add(stream)
      else if (stream.response.hasSendable) this.#ready.add(stream)
    }
    return touched
  }

  /** Puts what a stream may send now into the buffer. False when the buffer has no room for more. */
  #fill(stream: ServerStream, touched: ServerStream[]): boolean {
    if (buffer.room <= 0) return false
    const before = buffer.length
    const taken = stream.response.fill(buffer, Math.max(0, this.#window))
    if (taken === undefined) return false
    this.#window -= taken
    if (buffer.length > before) touched.push(stream)
    return true
  }
}
