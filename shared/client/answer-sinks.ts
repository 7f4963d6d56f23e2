import type { PlainAnswer } from './transport.ts'

/** Where an answer goes as it comes. Parts are only to be looked at: what is needed longer is copied. */
export interface AnswerSink {
  onHead(status: number): void
  onData(part: Buffer, isLast: boolean): void
  /** It is complete. */
  onEnd(): void
  /** It never will be. */
  onError(error: Error): void
}

/** An answer that is wanted as a whole. `unread`: the body of a success is not. */
export class PlainSink implements AnswerSink {
  readonly #asked: { unread: boolean; resolve(answer: PlainAnswer): void; reject(error: Error): void }
  #status = 0
  #body = ''
  #pieces: Buffer[] = []

  constructor(asked: { unread: boolean; resolve(answer: PlainAnswer): void; reject(error: Error): void }) {
    this.#asked = asked
  }

  onHead(status: number): void {
    this.#status = status
  }

  onData(part: Buffer, isLast: boolean): void {
    if (this.#asked.unread && this.#status < 300) return
    // Most answers come in one piece.
    if (isLast && this.#pieces.length === 0) this.#body = part.toString('utf8')
    else this.#pieces.push(Buffer.from(part))
  }

  onEnd(): void {
    const body = this.#pieces.length === 0 ? this.#body : Buffer.concat(this.#pieces).toString('utf8')
    this.#asked.resolve({ status: this.#status, statusText: '', body })
  }

  onError(error: Error): void {
    this.#asked.reject(error)
  }
}

/** An answer that is read while it comes, by one reader. `cancel` is called when that one reads no more. */
export class StreamSink implements AnswerSink, AsyncIterable<Buffer> {
  readonly #head = Promise.withResolvers<number>()
  readonly #cancel: () => void
  #parts: Buffer[] = []
  #end: { error?: Error } | undefined
  #wake = (): void => {}

  constructor(cancel: () => void) {
    this.#cancel = cancel
    this.#head.promise.catch(() => {})
  }

  /** Resolves with the status. Rejects when there is no answer. */
  get head(): Promise<number> {
    return this.#head.promise
  }

  onHead(status: number): void {
    this.#head.resolve(status)
  }

  onData(part: Buffer): void {
    this.#parts.push(Buffer.from(part))
    this.#wake()
  }

  onEnd(): void {
    this.#end = {}
    this.#wake()
  }

  onError(error: Error): void {
    this.#end = { error }
    this.#head.reject(error)
    this.#wake()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    try {
      for (;;) {
        const parts = this.#parts
        this.#parts = []
        yield* parts
        if (this.#parts.length > 0) continue
        if (this.#end?.error) throw this.#end.error
        if (this.#end) return
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
      }
    } finally {
      this.#cancel()
    }
  }
}
