import type { IncomingMessage } from 'node:http'
import { badRequest } from '../../../shared/api/status-errors.ts'
import { Seats } from '../flow-control/seats.ts'
import { limitTable } from '../limits/limits.ts'
import { readBody } from './body.ts'

/** Decoding less than this takes no longer than a request without a body. */
const largeBytes = 8 * 1024

/** The request of a body, its user, and whether the client still waits for its answer. */
interface Sender {
  readonly request: IncomingMessage
  readonly asker: { readonly name: string }
  hasLeft(): boolean
}

/**
 * The bodies of all requests. A turn of the event loop begins to decode one large body, each user's in turn: requests
 * of other clients are answered in between.
 */
export class Bodies {
  readonly #maxBytes: number
  readonly #turns = new Seats({ seats: 1, places: Number.POSITIVE_INFINITY })

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  read(sender: Sender): Promise<Buffer> {
    return this.#inTurn(sender, readBody(sender.request, this.#maxBytes))
  }

  /** For what is small by its kind. */
  readSmall(sender: Sender): Promise<Buffer> {
    const small = limitTable.smallBody.default
    if (this.#maxBytes <= small) return this.read(sender)
    return this.#inTurn(sender, readBody(sender.request, small, 'smallBody'))
  }

  #inTurn(sender: Sender, reading: Promise<Buffer>): Promise<Buffer> {
    if (Number(sender.request.headers['content-length']) < largeBytes) return reading
    return reading.then((bytes) => (bytes.length < largeBytes ? bytes : this.#wait(sender, bytes)))
  }

  async #wait(sender: Sender, bytes: Buffer): Promise<Buffer> {
    if (!this.#turns.take()) await this.#turns.queue(sender.asker.name)?.waits
    setImmediate(() => this.#turns.release())
    if (sender.hasLeft()) throw badRequest('unexpected EOF')
    return bytes
  }
}
