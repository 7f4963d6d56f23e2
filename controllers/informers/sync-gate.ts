import type { Informer } from '../../shared/client/informer.ts'

/**
 * Keeps news from loops until all that they look at was listed once: over a network, a workload may be listed before
 * its pods, which would then be made again. Upstream: each controller waits for the sync of its caches.
 */
export class SyncGate {
  readonly #opened = Promise.withResolvers<void>()
  #waiting: (() => void)[] | undefined = []

  /** Wraps the informer: its handlers are called, and it has synced, only when the gate is open. */
  behind<T>(informer: Informer<T>): Informer<T> {
    return {
      ...informer,
      hasSynced: () => this.#waiting === undefined && informer.hasSynced(),
      synced: async () => {
        await informer.synced()
        await this.#opened.promise
      },
      addHandler: (handler) => {
        if (this.#waiting) this.#waiting.push(() => informer.addHandler(handler))
        else informer.addHandler(handler)
      },
    }
  }

  /** Handlers hear of what is there, in the order in which they came. */
  open(): void {
    const waiting = this.#waiting ?? []
    this.#waiting = undefined
    for (const add of waiting) add()
    this.#opened.resolve()
  }
}
