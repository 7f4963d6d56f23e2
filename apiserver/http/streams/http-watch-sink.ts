import type { ServerResponse } from 'node:http'
import type { StatusError } from '../../../shared/api/status/status-error.ts'
import { drained } from '../../../shared/http/drained.ts'
import type { JsonMap } from '../../values/json-map.ts'
import type { WatchSink } from '../../watchcache/watch-sink.ts'
import type { Connection } from '../limits/client-limits.ts'

type EncodeEvent = (event: { type: string; object: JsonMap }) => string | Buffer

const jsonLine: EncodeEvent = (event) => `${JSON.stringify(event)}\n`

/** A response that goes on as long as the watch does. */
export class HttpWatchSink implements WatchSink<Buffer> {
  readonly connection: Connection
  readonly #response: ServerResponse
  readonly #encodeEvent: EncodeEvent

  constructor(response: ServerResponse, connection: Connection, encodeEvent: EncodeEvent = jsonLine) {
    this.connection = connection
    this.#response = response
    this.#encodeEvent = encodeEvent
  }

  write(chunk: Buffer): void {
    if (chunk.length > 0) this.#response.write(chunk)
  }

  buffered(): number {
    return this.#response.writableLength
  }

  drained(): Promise<void> {
    return drained(this.#response)
  }

  end(error?: StatusError): void {
    this.#response.end(error && this.#encodeEvent({ type: 'ERROR', object: error.status as unknown as JsonMap }))
  }

  abort(): void {
    this.#response.destroy()
  }

  onClose(callback: () => void): void {
    this.#response.once('close', callback)
  }
}
