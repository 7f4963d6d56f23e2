import { Gathered } from './gathered.ts'
import { maxAnswerBytes } from './limits.ts'
import type { PlainAnswer } from './transport.ts'

/** Receives an answer as it arrives. A part is valid only during the call: a sink copies what it needs longer. */
export interface AnswerSink {
  onHead(status: number): void
  /** Throws when it becomes too much. */
  onData(part: Buffer, isLast: boolean): void
  /** Runs when the answer is complete. */
  onEnd(): void
  /** Runs when the answer will never be complete. */
  onError(error: Error): void
}

/** An answer that is wanted as a whole. `unread`: the body of a success is not. */
export class PlainSink implements AnswerSink {
  readonly #asked: { unread: boolean; resolve(answer: PlainAnswer): void; reject(error: Error): void }
  #status = 0
  #body = ''
  readonly #pieces = new Gathered("the server's answer", maxAnswerBytes)

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
    else this.#pieces.add(part)
  }

  onEnd(): void {
    const body = this.#pieces.length === 0 ? this.#body : this.#pieces.take().toString('utf8')
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
  readonly #unread = new Gathered('what the server sent faster than it was read', maxAnswerBytes)
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
    this.#unread.add(part)
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
        if (this.#unread.length > 0) {
          yield this.#unread.take()
          continue
        }
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
