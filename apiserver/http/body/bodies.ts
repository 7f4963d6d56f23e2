import type { IncomingMessage } from 'node:http'
import { badRequest, tooManyRequests } from '../../../shared/api/status-errors.ts'
import { Seats } from '../flow-control/seats.ts'
import { type LimitName, type Limits, limitTable } from '../limits/limits.ts'
import { readBody } from './body.ts'

/** Decoding less than this takes no longer than a request without a body. */
const largeBytes = 8 * 1024
const retryAfterSeconds = 1

/** The request of a body, its user, and whether the client still waits for its answer. */
interface Sender {
  readonly request: IncomingMessage
  readonly asker: { readonly name: string }
  hasLeft(): boolean
}

interface Limit {
  maxBytes: number
  name: LimitName
}

type BodyLimits = Pick<Limits, 'maxRequestBodyBytes' | 'maxRequestBodyBytesPerUser'>

/**
 * Reads the bodies of all requests. Each turn of the event loop begins to decode at most one large body, taking users
 * in turn, so that requests of other clients are answered in between.
 */
export class Bodies {
  readonly #limit: Limit
  readonly #smallLimit: Limit
  readonly #mostOfUser: number
  readonly #turns = new Seats({ seats: 1, places: Number.POSITIVE_INFINITY })
  /** Bytes of large bodies that arrive, or wait for their turn, by user. */
  readonly #held = new Map<string, number>()

  constructor({ maxRequestBodyBytes: maxBytes, maxRequestBodyBytesPerUser }: BodyLimits) {
    const small = limitTable.smallBody.default
    this.#limit = { maxBytes, name: 'maxRequestBodyBytes' }
    this.#smallLimit = maxBytes > small ? { maxBytes: small, name: 'smallBody' } : this.#limit
    this.#mostOfUser = maxRequestBodyBytesPerUser
  }

  read(sender: Sender): Promise<Buffer> {
    return this.#read(sender, this.#limit)
  }

  /** For what is small by its kind. */
  readSmall(sender: Sender): Promise<Buffer> {
    return this.#read(sender, this.#smallLimit)
  }

  #read(sender: Sender, limit: Limit): Promise<Buffer> {
    const length = Number(sender.request.headers['content-length'] ?? limit.maxBytes)
    if (length < largeBytes || length > limit.maxBytes) return readBody(sender.request, limit.maxBytes, limit.name)
    return this.#readLarge(sender, limit, length)
  }

  async #readLarge(sender: Sender, { maxBytes, name }: Limit, length: number): Promise<Buffer> {
    const { request, asker } = sender
    this.#hold(sender, length)
    try {
      const bytes = await readBody(request, maxBytes, name)
      if (!this.#turns.take()) await this.#turns.queue(asker.name)?.waits
      setImmediate(() => this.#turns.release())
      if (sender.hasLeft()) throw badRequest('unexpected EOF')
      return bytes
    } finally {
      this.#release(asker.name, length)
    }
  }

  /** Throws a StatusError (429) where a user sends too much at a time; one body is never too much. */
  #hold({ request, asker }: Sender, length: number): void {
    const held = this.#held.get(asker.name) ?? 0
    if (held > 0 && held + length > this.#mostOfUser) {
      request.resume()
      const why = 'Too many requests, please try again later.'
      throw tooManyRequests(why, retryAfterSeconds, []).atLimit('maxRequestBodyBytesPerUser' satisfies LimitName)
    }
    this.#held.set(asker.name, held + length)
  }

  #release(user: string, length: number): void {
    const left = (this.#held.get(user) ?? 0) - length
    if (left > 0) this.#held.set(user, left)
    else this.#held.delete(user)
  }
}
