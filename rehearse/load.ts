import { get } from 'node:http'
import type { Clock } from '../shared/clock/clock.ts'
import type { LoadResult } from './judge.ts'

export interface LoadOptions {
  url: string
  /** The machine's. */
  clock: Clock
  /** How many of the cluster's seconds pass in one of the machine's. */
  scale: number
  /** How long clients go on after the deletion, in the cluster's time: until they know that the endpoint is gone. */
  learntMs: number
}

const betweenMs = 10
const timeoutMs = 5_000

/** Asks again and again, each time over a new connection, as clients do who do not know yet that the pod goes. */
export class Load {
  readonly #options: LoadOptions
  readonly #answers: Promise<void>[] = []
  #startMs: number | undefined
  #sent = 0
  #lost = 0
  #firstLostMs: number | undefined
  #running: Promise<void> | undefined
  #stopped = false

  constructor(options: LoadOptions) {
    this.#options = options
  }

  begin(): void {
    this.#running = this.#run()
  }

  /** The pod is deleted now: what is lost from here on counts. */
  deleted(): void {
    this.#startMs = this.#options.clock.monotonic()
  }

  /** Resolves when clients know, and the last answer has come. */
  async end(): Promise<LoadResult> {
    const { clock, scale, learntMs } = this.#options
    const since = clock.monotonic() - (this.#startMs ?? clock.monotonic())
    await clock.sleep(Math.max(0, learntMs / scale - since))
    this.#stopped = true
    await this.#running
    await Promise.all(this.#answers)
    return { sent: this.#sent, lost: this.#lost, firstLostMs: this.#firstLostMs, learntMs }
  }

  /** In the cluster's time. */
  #sinceDeletion(): number | undefined {
    const { clock, scale } = this.#options
    return this.#startMs === undefined ? undefined : (clock.monotonic() - this.#startMs) * scale
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      this.#answers.push(this.#ask())
      await this.#options.clock.sleep(betweenMs)
    }
  }

  async #ask(): Promise<void> {
    const sentMs = this.#sinceDeletion()
    const isGood = await answers(this.#options.url)
    // Clients that know ask elsewhere.
    if (sentMs === undefined || sentMs > this.#options.learntMs) return
    this.#sent++
    if (isGood) return
    this.#lost++
    this.#firstLostMs ??= sentMs
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
