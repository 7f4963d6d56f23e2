import { EventEmitter } from 'node:events'
import type { IncomingHttpHeaders } from 'node:http'
import { StringDecoder } from 'node:string_decoder'
import type { TLSSocket } from 'node:tls'
import type { RequestHead } from './request-head.ts'
import { soon } from './soon.ts'
import type { StreamOwner } from './stream-owner.ts'

type Listener = (...args: unknown[]) => void

/**
 * Implements the parts of IncomingMessage that handlers use: method, URL, headers, and a body as `data` and `end`;
 * `aborted` if the body will never end. Until there is a listener, the body waits, and so does the client.
 */
export class Http2Request extends EventEmitter {
  readonly httpVersion = '2.0'
  readonly httpVersionMajor = 2
  method: string
  url: string
  readonly headers: IncomingHttpHeaders
  readonly socket: TLSSocket
  readonly #streamId: number
  readonly #owner: StreamOwner
  #waiting: Buffer[] = []
  #flowing = false
  #decoder: StringDecoder | undefined
  #discarded = false
  #state: 'arriving' | 'complete' | 'told' | 'aborted' = 'arriving'

  constructor(
    streamId: number,
    { method, path, headers }: Pick<RequestHead, 'method' | 'path' | 'headers'>,
    { socket, owner }: { socket: TLSSocket; owner: StreamOwner },
  ) {
    super()
    this.method = method
    this.url = path
    this.headers = headers
    this.socket = socket
    this.#streamId = streamId
    this.#owner = owner
  }

  get aborted(): boolean {
    return this.#state === 'aborted'
  }

  /** The body comes as text from now on. */
  setEncoding(encoding: BufferEncoding): this {
    this.#decoder = new StringDecoder(encoding)
    return this
  }

  override on(event: string, listener: Listener): this {
    super.on(event, listener)
    if (event === 'data') this.resume()
    return this
  }

  /** A body without a listener is discarded from now on. */
  resume(): this {
    if (!this.#flowing) {
      this.#flowing = true
      // A listener of `data` also adds one for `end`.
      soon.then(() => this.#deliver())
    }
    return this
  }

  /** The rest of the body waits from now on, and so does the client. */
  pause(): this {
    this.#flowing = false
    return this
  }

  /** A part of the body has arrived. */
  receive(part: Buffer): void {
    if (part.length > 0) this.#waiting.push(part)
    if (this.#flowing) this.#deliver()
  }

  receiveEnd(): void {
    this.#state = 'complete'
    if (this.#flowing) this.#deliver()
  }

  /** The rest of the body will not come. */
  abort(): void {
    if (this.#state !== 'arriving') return
    this.#state = 'aborted'
    this.emit('aborted')
  }

  /** The length of the body that was not read, and will not be. */
  discard(): number {
    this.#discarded = true
    const bytes = this.#waiting.reduce((sum, part) => sum + part.length, 0)
    this.#waiting = []
    return bytes
  }

  #deliver(): void {
    const parts = this.#waiting
    this.#waiting = []
    let taken = 0
    while (this.#flowing && taken < parts.length) {
      const part = parts[taken++]!
      this.emit('data', this.#decoder ? this.#decoder.write(part) : part)
      this.#owner.consumed(this.#streamId, part.length)
    }
    if (taken < parts.length) this.#waiting = parts.slice(taken)
    // The listener has ended the stream.
    if (this.#discarded) this.#owner.consumed(this.#streamId, this.discard())
    if (!this.#flowing || this.#state !== 'complete') return
    this.#state = 'told'
    this.emit('end')
  }
}
