/** Callers that want the same key get it one after another, first come first served. */
export class KeyedTurns {
  readonly #last = new Map<string, Promise<void>>()

  /** Returns true if a caller holds the key, or waits for it. */
  isTaken(key: string): boolean {
    return this.#last.has(key)
  }

  /**
   * Resolves when it is the caller's turn; disposing of it ends the turn. Rejects with the signal's reason when it
   * aborts first: then those behind the caller move up.
   */
  async take(key: string, signal?: AbortSignal): Promise<Disposable> {
    const before = this.#last.get(key)
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#last.set(key, promise)
    const end = (): void => {
      if (this.#last.get(key) === promise) this.#last.delete(key)
      resolve()
    }
    try {
      await (before && signal ? unlessAborted(before, signal) : before)
    } catch (error) {
      void before?.then(end)
      throw error
    }
    return { [Symbol.dispose]: end }
  }
}

const unlessAborted = (promise: Promise<void>, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    void promise.then(resolve)
  })
