import type { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'
import type { StatusError } from '../../../shared/api/status/status-error.ts'
import { drained } from '../../../shared/http/drained.ts'
import type { WatchSink } from '../../watchcache/watch-sink.ts'
import type { Connection } from '../limits/client-limits.ts'

const newline = 10

/**
 * A WebSocket that gets each event as a message of its own: for browsers, which cannot read a response that goes on.
 */
export class WebSocketWatchSink implements WatchSink<Buffer> {
  readonly connection: Connection
  readonly #socket: WebSocket
  readonly #duplex: Duplex

  constructor(socket: WebSocket, duplex: Duplex, connection: Connection) {
    this.connection = connection
    this.#socket = socket
    this.#duplex = duplex
  }

  /** A chunk is whole lines, which leave together. */
  write(chunk: Buffer): void {
    this.#duplex.cork()
    for (let start = 0; start < chunk.length; ) {
      const end = chunk.indexOf(newline, start)
      const line = chunk.subarray(start, end === -1 ? chunk.length : end + 1)
      this.#socket.send(line, { binary: false })
      start += line.length
    }
    this.#duplex.uncork()
  }

  buffered(): number {
    return this.#socket.bufferedAmount
  }

  drained(): Promise<void> {
    return drained(this.#duplex)
  }

  end(error?: StatusError): void {
    if (error) this.#socket.send(`${JSON.stringify({ type: 'ERROR', object: error.status })}\n`)
    this.#socket.close(1000)
  }

  abort(): void {
    this.#socket.terminate()
  }

  onClose(callback: () => void): void {
    this.#socket.once('close', callback)
  }
}
