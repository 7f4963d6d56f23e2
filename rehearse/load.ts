import { get } from 'node:http'
import type { Clock } from '../shared/clock/clock.ts'

export interface LoadOptions {
  url: string
  /** The machine's. */
  clock: Clock
  /** The cluster's time. */
  nowMs(): number
  /** How long clients go on after the deletion: until they know that the endpoint is gone. */
  learntMs: number
}

/** One request: when it was sent, in the cluster's time, and whether it was answered. */
export interface Sample {
  atMs: number
  isGood: boolean
}

const betweenMs = 10
const timeoutMs = 5_000

/** Asks again and again, each time over a new connection, as clients do who do not know yet that the pod goes. */
export class Load {
  readonly #options: LoadOptions
  readonly #answers: Promise<void>[] = []
  readonly #samples: Sample[] = []
  #running: Promise<void> | undefined
  #stopped = false

  constructor(options: LoadOptions) {
    this.#options = options
  }

  begin(): void {
    this.#running = this.#run()
  }

  /** Called when the pod is over: resolves when clients know that, too, and the last answer has come. */
  async end(): Promise<Sample[]> {
    const { clock, learntMs } = this.#options
    await clock.sleep(learntMs)
    this.#stopped = true
    await this.#running
    await Promise.all(this.#answers)
    return this.#samples
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      this.#answers.push(this.#ask())
      await this.#options.clock.sleep(betweenMs)
    }
  }

  async #ask(): Promise<void> {
    const atMs = this.#options.nowMs()
    this.#samples.push({ atMs, isGood: await answers(this.#options.url) })
  }
}

/** Whether something below 500 comes back, whole. */
export function answers(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get(url, { agent: false, timeout: timeoutMs }, (response) => {
      response.resume()
      response.on('end', () => resolve(response.complete && (response.statusCode ?? 500) < 500))
      response.on('error', () => resolve(false))
    })
    request.on('timeout', () => request.destroy())
    request.on('error', () => resolve(false))
  })
}
