import type { TLSSocket } from 'node:tls'
import { defaultMaxFrameSize, defaultWindow, maxWindow } from '../../http2/protocol.ts'
import { dataFrame } from './frames.ts'

/** Holds the part of a request's body that the server has not accepted yet. */
export interface Body {
  id: number
  unsent: Buffer | undefined
  /** The number of bytes that the server accepts now. */
  window: number
}

/** Answers to PING and SETTINGS that wait because the server does not read. */
const maxAnswers = 10_000

/**
 * Sends frames to a server. All frames of one turn of the event loop leave in one write. A body is sent as far as the
 * server's windows allow.
 */
export class Http2Outbox {
  readonly #socket: TLSSocket
  #frames: Buffer[] = []
  #isScheduled = false
  #window = defaultWindow
  #streamWindow = defaultWindow
  #answers = 0

  constructor(socket: TLSSocket) {
    this.#socket = socket
  }

  get streamWindow(): number {
    return this.#streamWindow
  }

  send(frames: Buffer): void {
    this.#frames.push(frames)
    if (this.#isScheduled) return
    this.#isScheduled = true
    process.nextTick(() => this.#flush())
  }

  /**
   * Sends an answer that the server demands. Throws an Error if the server has demanded many and reads none of them.
   */
  answer(frame: Buffer): void {
    this.#answers++
    if (this.#answers > maxAnswers)
      throw new Error('the server does not read the answers to its PING and SETTINGS frames')
    this.send(frame)
  }

  sendBody(body: Body): void {
    while (body.unsent) {
      const { id, unsent, window } = body
      const size = Math.min(unsent.length, defaultMaxFrameSize, this.#window, window)
      if (size <= 0 && unsent.length > 0) return
      const isLast = size === unsent.length
      this.send(dataFrame(id, unsent.subarray(0, size), isLast))
      body.unsent = isLast ? undefined : unsent.subarray(size)
      body.window -= size
      this.#window -= size
    }
  }

  /** The server takes more: of one body, or of all together. Throws when it takes more than a window can be. */
  widen(by: number, { body, all }: { body?: Body; all: Iterable<Body> }): void {
    const window = (body ? body.window : this.#window) + by
    if (window > maxWindow) throw new Error('the server opened a window wider than 2 GiB')
    if (body) body.window = window
    else this.#window = window
    for (const waiting of body ? [body] : all) this.sendBody(waiting)
  }

  /** The server says how much it takes of each body at first; that holds for those under way, too. */
  setStreamWindow(size: number, all: Iterable<Body>): void {
    const more = size - this.#streamWindow
    this.#streamWindow = size
    for (const body of all) this.widen(more, { body, all })
  }

  #flush(): void {
    const frames = this.#frames
    this.#frames = []
    this.#isScheduled = false
    if (this.#socket.writableLength === 0) this.#answers = 0
    if (!this.#socket.destroyed) this.#socket.write(frames.length === 1 ? frames[0]! : Buffer.concat(frames))
  }
}
