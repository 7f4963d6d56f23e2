/** Notes which requests a server took longest to answer. */
import type { Sent, Server } from './player.ts'

const shown = 3

export class Slowest {
  readonly #name: string
  #found: { ms: number; request: string }[] = []

  constructor(name: string) {
    this.#name = name
  }

  /** Returns the server, whose answers are timed from now on: those of streams up to their heads. */
  timed<S extends Server>(server: S): S {
    const time = async <T>(sent: Sent, ask: (sent: Sent) => Promise<T>): Promise<T> => {
      const startedMs = performance.now()
      const answer = await ask(sent)
      this.#note(performance.now() - startedMs, sent)
      return answer
    }
    return { ...server, send: (sent) => time(sent, server.send), open: (sent) => time(sent, server.open) }
  }

  text(): string {
    const found = this.#found.map(({ ms, request }) => `${ms.toFixed(0)} ms ${request}`)
    return `slowest answers of ${this.#name}: ${found.join(', ')}`
  }

  #note(ms: number, { method, path }: Sent): void {
    this.#found.push({ ms, request: `${method} ${path}` })
    this.#found.sort((one, other) => other.ms - one.ms)
    this.#found.length = Math.min(this.#found.length, shown)
  }
}
