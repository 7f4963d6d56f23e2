import { Readable } from 'node:stream'

/** Fills an output stream, and can be paused. */
export interface OutputSource {
  pause(): void
  resume(): void
}

/** A process's output for one who listens: a slow listener holds the process up, one who has gone does not. */
export class OutputStream extends Readable {
  readonly #source: OutputSource

  constructor(source: OutputSource) {
    super()
    this.#source = source
  }

  /** Takes a copy. */
  add(data: Buffer): void {
    if (!this.destroyed && !this.readableEnded && !this.push(Buffer.from(data))) this.#source.pause()
  }

  end(): void {
    if (!this.destroyed) this.push(null)
  }

  override _read(): void {
    this.#source.resume()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#source.resume()
    done(error)
  }
}
