import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { Dispatcher } from 'undici'
import type { Exchange } from '../exchange.ts'
import { answeredHeaders } from './headers.ts'

/** Go's limit. */
const maxInterimAnswers = 5

interface Outcome {
  /** The answer has begun: from here on this class is the one that ends it. */
  begun(): void
  /** No answer has begun. */
  failed(error: Error): void
}

/** Passes the answer of another server on to the client, no faster than the client reads. */
export class PassedAnswer implements Dispatcher.DispatchHandler {
  readonly #exchange: Exchange
  readonly #outcome: Outcome
  #controller: Dispatcher.DispatchController | undefined
  #response: ServerResponse | undefined
  #aborted: Error | undefined
  #interimAnswers = 0
  #head: NodeJS.Immediate | undefined

  constructor(exchange: Exchange, outcome: Outcome) {
    this.#exchange = exchange
    this.#outcome = outcome
  }

  abort(why: Error): void {
    this.#aborted ??= why
    this.#controller?.abort(why)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#aborted) controller.abort(this.#aborted)
  }

  onResponseStart(_controller: Dispatcher.DispatchController, code: number, headers: IncomingHttpHeaders): void {
    if (code < 200) {
      if (code === 101 || ++this.#interimAnswers > maxInterimAnswers)
        this.abort(new Error('net/http: too many 1xx informational responses'))
      return
    }
    this.#response = this.#exchange.takeOver()
    this.#response.writeHead(code, answeredHeaders(headers))
    // A small answer is here as a whole: its head then leaves together with its body.
    this.#head = setImmediate(() => this.#response?.flushHeaders())
    this.#outcome.begun()
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    clearImmediate(this.#head)
    if (this.#response?.write(chunk) !== false) return
    controller.pause()
    this.#response.once('drain', () => controller.resume())
  }

  onResponseEnd(): void {
    clearImmediate(this.#head)
    this.#response?.end()
  }

  /** An answer that has begun can only be cut off. */
  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    clearImmediate(this.#head)
    if (this.#response) this.#response.destroy()
    else this.#outcome.failed(this.#aborted ?? error)
  }
}
