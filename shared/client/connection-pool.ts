import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import { type Answer, AnswerReader } from './answer-reader.ts'
import { type Cancellation, type PlainRequest, StaleConnectionError, type TransportOptions } from './transport.ts'

interface Waiting {
  request: PlainRequest
  cancellation: Cancellation
  resolve(answer: Answer): void
  reject(error: Error): void
}

/**
 * API servers close a connection after 90 s without a request. One that is sent at that moment, or by a process that
 * was halted meanwhile, is reset, and a write is not sent again.
 */
const MOST_IDLE_MS = 60_000

/**
 * Kept HTTP/1.1 connections, with one request at a time on each. Plain requests and answers over a TLS socket:
 * node:https spends three times as much on each (docs/performance.md), which is most of what a kubelet does.
 */
export class ConnectionPool {
  readonly #options: TransportOptions
  readonly #all = new Set<Connection>()
  /** Holds those that were used last at the end. */
  readonly #free: Connection[] = []
  readonly #waiting: Waiting[] = []
  readonly #head: string
  #isRetired = false
  #isClosed = false

  constructor(options: TransportOptions) {
    this.#options = options
    const { authority, headers } = options
    this.#head = Object.entries({ host: authority, ...headers })
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('')
  }

  /** Rejects when the connection fails, or with the error of the cancellation. */
  request(request: PlainRequest, cancellation: Cancellation): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const waiting: Waiting = { request, cancellation, resolve, reject }
      cancellation.whenCancelled((error) => {
        const index = this.#waiting.indexOf(waiting)
        if (index !== -1) this.#waiting.splice(index, 1)
        reject(error)
      })
      this.#waiting.push(waiting)
      this.#next()
    })
  }

  retire(): void {
    this.#isRetired = true
    this.#settle()
  }

  close(): void {
    this.#isClosed = true
    for (const connection of this.#all) connection.destroy(new Error('the client is closed'))
    for (const { reject } of this.#waiting.splice(0)) reject(new Error('the client is closed'))
  }

  #next(): void {
    while (this.#waiting.length > 0 && !this.#isClosed) {
      const connection = this.#kept() ?? this.#open()
      if (!connection) return
      const { request, cancellation, resolve, reject } = this.#waiting.shift()!
      cancellation.whenCancelled((error) => connection.destroy(error))
      connection.ask(this.#textOf(request), request.unread).then(resolve, reject)
    }
  }

  /** Closes free connections that are too old. */
  #kept(): Connection | undefined {
    const now = this.#options.clock.monotonic()
    for (;;) {
      const connection = this.#free.pop()
      if (!connection || now - connection.freeSinceMs < MOST_IDLE_MS) return connection
      connection.destroy(new Error('the connection has waited for too long'))
    }
  }

  /** Closes the free connections of a retired pool, which get no more requests. */
  #settle(): void {
    if (this.#isRetired) for (const connection of this.#free) connection.destroy(new Error('the pool is retired'))
  }

  #textOf({ method, path, contentType, body }: PlainRequest): string {
    const start = `${method} ${path} HTTP/1.1\r\n${this.#head}`
    if (body === undefined) return `${start}\r\n`
    return `${start}content-type: ${contentType}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  }

  #open(): Connection | undefined {
    if (this.#all.size >= this.#options.maxRequests) return undefined
    const connection = new Connection(this.#options.tls, {
      onFree: () => {
        connection.freeSinceMs = this.#options.clock.monotonic()
        this.#free.push(connection)
        this.#next()
        this.#settle()
      },
      onEnd: () => {
        this.#all.delete(connection)
        const index = this.#free.indexOf(connection)
        if (index !== -1) this.#free.splice(index, 1)
        this.#next()
      },
    })
    this.#all.add(connection)
    return connection
  }
}

/** Every connection is read into this buffer: a piece is handled before the next is read. */
const scratch = Buffer.alloc(64 * 1024)

class Connection {
  readonly #socket: TLSSocket
  readonly #onFree: () => void
  readonly #onEnd: () => void
  #asked: PromiseWithResolvers<Answer> | undefined
  #reader = new AnswerReader()
  #answered = 0
  freeSinceMs = 0

  constructor(tls: ConnectionOptions, { onFree, onEnd }: { onFree(): void; onEnd(): void }) {
    this.#onFree = onFree
    this.#onEnd = onEnd
    const callback = (bytes: number): boolean => {
      this.#read(scratch.subarray(0, bytes))
      return true
    }
    this.#socket = connect({
      ...tls,
      ALPNProtocols: ['http/1.1'],
      onread: { buffer: scratch, callback },
    } as ConnectionOptions)
    this.#socket.setNoDelay(true)
    let failure: Error | undefined
    this.#socket.on('error', (error) => {
      failure = error
    })
    this.#socket.on('end', () => this.#answer(this.#reader.end()))
    this.#socket.on('close', () => {
      onEnd()
      this.#fail(failure ?? new Error('the connection was closed in the middle of an answer'))
    })
  }

  ask(text: string, unread?: boolean): Promise<Answer> {
    const asked = Promise.withResolvers<Answer>()
    this.#asked = asked
    this.#reader = new AnswerReader(unread)
    this.#socket.ref()
    this.#socket.write(text)
    return asked.promise
  }

  destroy(error: Error): void {
    const asked = this.#asked
    this.#asked = undefined
    asked?.reject(error)
    this.#socket.destroy()
  }

  #read(data: Buffer): void {
    try {
      if (this.#asked) this.#answer(this.#reader.push(data))
      else this.#leave()
    } catch (error) {
      this.destroy(error as Error)
    }
  }

  /** Closes a connection that received unrequested data: it would be taken for the answer to the next request. */
  #leave(): void {
    this.#onEnd()
    this.#socket.destroy()
  }

  #answer(answer: Answer | undefined): void {
    const asked = this.#asked
    if (!answer || !asked) return
    this.#asked = undefined
    this.#answered += 1
    if (answer.isKept) {
      this.#socket.unref()
      this.#onFree()
    } else this.#socket.destroy()
    asked.resolve(answer)
  }

  #fail(error: Error): void {
    const isStale = this.#answered > 0 && !this.#reader.hasBegun
    this.#asked?.reject(isStale ? new StaleConnectionError('connection closed by the server', { cause: error }) : error)
    this.#asked = undefined
  }
}
