/** Calls that begin in one turn of the event loop. Most are writes, which take some 0.3 ms. */
const atOnce = 50

/**
 * Shares the event loop between callers within the process and clients at its sockets. Callers within the process await
 * nothing but each other: without a bound a thousand pods would be created before the next byte of a client is read.
 */
class LoopShare {
  #left = atOnce
  readonly #waiting: (() => void)[] = []

  /** True while calls wait for a later turn of the event loop. */
  get isFull(): boolean {
    return this.#waiting.length > 0
  }

  /** Returns what a call has to wait for; undefined if it may begin. Calls begin in the order in which they came. */
  turn(): Promise<void> | undefined {
    if (this.#left === atOnce) setImmediate(this.#renew)
    if (this.#left === 0) return new Promise((resolve) => this.#waiting.push(resolve))
    this.#left--
    return undefined
  }

  readonly #renew = (): void => {
    const begun = this.#waiting.splice(0, atOnce)
    this.#left = atOnce - begun.length
    if (begun.length > 0) setImmediate(this.#renew)
    for (const begin of begun) begin()
  }
}

/** The process has one event loop, so all servers in it share it. */
export const loopShare = new LoopShare()
