import { Duplex } from 'node:stream'
import { controlFrame, dataFrame, numbers, rstStream, statusCancel, statusProtocolError } from './frames.ts'
import type { Headers } from './header-blocks.ts'

export interface SpdyStreamOptions {
  id: number
  headers: Headers
  send(frame: Buffer, done?: (error?: Error | null) => void): void
}

/**
 * Represents one stream of a connection, which the client opened. Ending it half-closes the server's side; destroying
 * it resets both sides.
 */
export class SpdyStream extends Duplex {
  readonly id: number
  readonly headers: Headers
  readonly #send: SpdyStreamOptions['send']
  #remoteEnded = false
  #isReset = false
  #resetStatus = statusCancel
  #wake = (): void => {}

  constructor({ id, headers, send }: SpdyStreamOptions) {
    super({ allowHalfOpen: true })
    this.id = id
    this.headers = headers
    this.#send = send
    this.on('error', () => {})
  }

  /** Takes what came; resolves when there is room for more. */
  async receive(data: Buffer, { fin }: { fin: boolean }): Promise<void> {
    if (this.destroyed || this.#remoteEnded) return
    const hasRoom = data.length === 0 || this.push(data)
    if (fin) {
      this.#remoteEnded = true
      this.push(null)
    } else if (!hasRoom) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  /** The client, or the end of its connection, has taken the stream from us. */
  reset(): void {
    this.#isReset = true
    this.destroy()
  }

  /** Refuses the stream because its headers are invalid. */
  refuse(): void {
    this.#resetStatus = statusProtocolError
    this.destroy()
  }

  override _read(): void {
    this.#wake()
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#send(dataFrame(this.id, chunk, { fin: false }), done)
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#send(dataFrame(this.id, Buffer.alloc(0), { fin: true }), done)
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    const isOver = this.#isReset || (this.#remoteEnded && this.writableFinished)
    if (!isOver) this.#send(controlFrame(rstStream, numbers(this.id, this.#resetStatus)))
    this.#wake()
    done(error)
  }
}
