import type { ServerResponse } from 'node:http'
import type { StatusError } from '../../shared/api/status-error.ts'
import type { WatchSink } from '../watchcache/watch-sink.ts'

/** A response that goes on as long as the watch does. */
export class HttpWatchSink implements WatchSink<Buffer> {
  readonly #response: ServerResponse

  constructor(response: ServerResponse) {
    this.#response = response
  }

  write(chunk: Buffer): void {
    if (chunk.length > 0) this.#response.write(chunk)
  }

  buffered(): number {
    return this.#response.writableLength
  }

  drained(): Promise<void> {
    const response = this.#response
    if (!response.writableNeedDrain || response.destroyed) {
      return new Promise((resolve) => setImmediate(resolve))
    }
    return new Promise((resolve) => {
      const done = (): void => {
        response.off('drain', done)
        response.off('close', done)
        resolve()
      }
      response.on('drain', done)
      response.on('close', done)
    })
  }

  end(error?: StatusError): void {
    this.#response.end(error && `${JSON.stringify({ type: 'ERROR', object: error.status })}\n`)
  }

  abort(): void {
    this.#response.destroy()
  }

  onClose(callback: () => void): void {
    this.#response.once('close', callback)
  }
}
