/** Notes which requests a server took longest to answer. */
import type { Received, Sent, Server } from './player.ts'

const shown = 3
const longMs = 1000
/** A server waits by design for a revision that is still to come: a get or list is answered 504 then, a watch 200. */
const isTooEarly = ({ path }: Sent, answer: Received | (() => unknown)): boolean =>
  path.includes('resourceVersion=99999999999') || ('status' in answer && answer.status === 504)

export class Slowest {
  readonly #name: string
  #found: { ms: number; request: string }[] = []
  #answers = 0
  #long = 0

  constructor(name: string) {
    this.#name = name
  }

  /** Returns the server, whose answers are timed from now on: those of streams up to their heads. */
  timed<S extends Server>(server: S): S {
    const time = async <T extends Received | (() => unknown)>(
      sent: Sent,
      ask: (sent: Sent) => Promise<T>,
    ): Promise<T> => {
      const startedMs = performance.now()
      const answer = await ask(sent)
      if (!isTooEarly(sent, answer)) this.#note(performance.now() - startedMs, sent)
      return answer
    }
    return { ...server, send: (sent) => time(sent, server.send), open: (sent) => time(sent, server.open) }
  }

  text(): string {
    const found = this.#found.map(({ ms, request }) => `${ms.toFixed(0)} ms ${request}`)
    return `slowest answers of ${this.#name} (${this.#long} of ${this.#answers} above 1 s): ${found.join(', ')}`
  }

  #note(ms: number, { method, path }: Sent): void {
    this.#answers++
    if (ms > longMs) this.#long++
    this.#found.push({ ms, request: `${method} ${path}` })
    this.#found.sort((one, other) => other.ms - one.ms)
    this.#found.length = Math.min(this.#found.length, shown)
  }
}
