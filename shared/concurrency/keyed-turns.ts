/** Callers that want the same key get it one after another, first come first served. */
export class KeyedTurns {
  readonly #last = new Map<string, Promise<void>>()

  /** Returns true if a caller holds the key, or waits for it. */
  isTaken(key: string): boolean {
    return this.#last.has(key)
  }

  /** Resolves when it is the caller's turn; disposing of it ends the turn. */
  async take(key: string): Promise<Disposable> {
    const before = this.#last.get(key)
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#last.set(key, promise)
    await before
    return {
      [Symbol.dispose]: () => {
        if (this.#last.get(key) === promise) this.#last.delete(key)
        resolve()
      },
    }
  }
}
