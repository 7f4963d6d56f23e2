import type { Dispatcher } from 'undici'
import { Gathered } from '../../shared/client/gathered.ts'

export interface Answer {
  code: number
  body: string
}

/** A patch, or the objects that were to be converted. Go's client reads without a limit. */
const leastAnswerBytes = 4 * 1024 * 1024
const answerPerReview = 2

const SWITCHING_PROTOCOLS = 101
/** Go's limit. */
const maxInterimAnswers = 5

/** Reads one answer of bounded size, and says `done` or `fail` once. */
export class AnswerReader implements Dispatcher.DispatchHandler {
  readonly #maxBytes: number
  readonly #body: Gathered
  readonly #done: (answer: Answer) => void
  readonly #fail: (error: Error) => void
  #controller: Dispatcher.DispatchController | undefined
  /** Holds why the answer is not needed any more, before or after its request is sent. */
  #aborted: Error | undefined
  #interimAnswers = 0
  #code = 0

  constructor(reviewBytes: number, done: (answer: Answer) => void, fail: (error: Error) => void) {
    this.#maxBytes = leastAnswerBytes + answerPerReview * reviewBytes
    this.#body = new Gathered("the webhook's answer", this.#maxBytes)
    this.#done = done
    this.#fail = fail
  }

  /** A request that waits for its connection is then never sent; one that is sent loses its connection. */
  abort(why: Error): void {
    this.#aborted = why
    this.#controller?.abort(why)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#aborted) controller.abort(this.#aborted)
  }

  onResponseStart(_controller: Dispatcher.DispatchController, code: number): void {
    if (code === SWITCHING_PROTOCOLS) {
      // Nothing asked for it, and nothing follows that could be read.
      this.#done({ code, body: '' })
      this.abort(new Error('the webhook switches protocols'))
    } else if (code < 200 && ++this.#interimAnswers > maxInterimAnswers)
      this.abort(new Error('net/http: too many 1xx informational responses'))
    this.#code = code
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#body.length + chunk.length > this.#maxBytes) this.abort(new Error('http: response body too large'))
    else this.#body.add(chunk)
  }

  onResponseEnd(): void {
    this.#done({ code: this.#code, body: this.#body.take().toString('utf8') })
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#fail(this.#aborted ?? error)
  }
}
