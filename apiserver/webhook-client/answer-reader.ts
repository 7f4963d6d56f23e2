import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import { Gathered } from '../../shared/client/gathered.ts'

export interface Answer {
  code: number
  headers: IncomingHttpHeaders
  body: string
}

export interface AnswerOptions {
  /** Names the answer in errors. */
  what: string
  maxBytes: number
  /** The answer is done when its head has come. */
  headOnly?: boolean
}

const SWITCHING_PROTOCOLS = 101
/** Go's limit. */
const maxInterimAnswers = 5

/** Reads one answer of bounded size, and says `done` or `fail` once. */
export class AnswerReader implements Dispatcher.DispatchHandler {
  readonly #maxBytes: number
  readonly #headOnly: boolean
  readonly #body: Gathered
  readonly #done: (answer: Answer) => void
  readonly #fail: (error: Error) => void
  #controller: Dispatcher.DispatchController | undefined
  /** Holds why the answer is not needed any more, before or after its request is sent. */
  #aborted: Error | undefined
  #interimAnswers = 0
  #code = 0
  #headers: IncomingHttpHeaders = {}

  constructor(
    { what, maxBytes, headOnly = false }: AnswerOptions,
    done: (answer: Answer) => void,
    fail: (error: Error) => void,
  ) {
    this.#maxBytes = maxBytes
    this.#headOnly = headOnly
    this.#body = new Gathered(what, maxBytes)
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

  onResponseStart(_controller: Dispatcher.DispatchController, code: number, headers: IncomingHttpHeaders): void {
    if (code === SWITCHING_PROTOCOLS || (this.#headOnly && code >= 200)) {
      // Nothing asked for another protocol, and nothing follows that could be read.
      this.#done({ code, headers, body: '' })
      this.abort(new Error('the rest of the answer is not read'))
    } else if (code < 200 && ++this.#interimAnswers > maxInterimAnswers)
      this.abort(new Error('net/http: too many 1xx informational responses'))
    this.#code = code
    this.#headers = headers
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#body.length + chunk.length > this.#maxBytes) this.abort(new Error('http: response body too large'))
    else this.#body.add(chunk)
  }

  onResponseEnd(): void {
    this.#done({ code: this.#code, headers: this.#headers, body: this.#body.take().toString('utf8') })
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#fail(this.#aborted ?? error)
  }
}
