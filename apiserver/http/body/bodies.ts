import type { IncomingMessage } from 'node:http'
import { badRequest, tooManyRequests } from '../../../shared/api/status/status-errors.ts'
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

  /** Reads a body of a kind whose objects are small. */
  readSmall(sender: Sender): Promise<Buffer> {
    return this.#read(sender, this.#smallLimit)
  }

  #read(sender: Sender, limit: Limit): Promise<Buffer> {
    const declared = Number(sender.request.headers['content-length'])
    const isLarge = !(declared < largeBytes || declared > limit.maxBytes)
    return isLarge ? this.#readLarge(sender, limit, declared) : readBody(sender.request, limit.maxBytes, limit.name)
  }

  /** Reads a body whose declared length is large, or that declares none and may become large. */
  async #readLarge(sender: Sender, limit: Limit, declared: number): Promise<Buffer> {
    const { request, asker } = sender
    let own = 0
    const hold = (bytes: number): Error | undefined => {
      if (bytes < largeBytes || bytes <= own) return undefined
      const refusal = this.#hold(asker.name, bytes - own, own)
      if (!refusal) own = bytes
      return refusal
    }
    try {
      const refusal = declared > 0 ? hold(declared) : undefined
      if (refusal) {
        request.resume()
        throw refusal
      }
      const bytes = await readBody(request, limit.maxBytes, limit.name, hold)
      if (bytes.length < largeBytes) return bytes
      if (!this.#turns.take()) await this.#turns.queue(asker.name)?.waits
      setImmediate(() => this.#turns.release())
      if (sender.hasLeft()) throw badRequest('unexpected EOF')
      return bytes
    } finally {
      this.#release(asker.name, own)
    }
  }

  /**
   * Holds more bytes of a body that holds `own` already. Returns a StatusError (429) where the user's bodies would be
   * too much together; one body is never too much.
   */
  #hold(user: string, more: number, own: number): Error | undefined {
    const held = this.#held.get(user) ?? 0
    if (held > own && held + more > this.#mostOfUser) {
      const why = 'Too many requests, please try again later.'
      return tooManyRequests(why, retryAfterSeconds, []).atLimit('maxRequestBodyBytesPerUser' satisfies LimitName)
    }
    this.#held.set(user, held + more)
    return undefined
  }

  #release(user: string, length: number): void {
    const left = (this.#held.get(user) ?? 0) - length
    if (left > 0) this.#held.set(user, left)
    else this.#held.delete(user)
  }
}
