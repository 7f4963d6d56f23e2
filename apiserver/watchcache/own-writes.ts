import type { KubeObject } from '../../shared/api/types.ts'

export interface OwnWrite {
  value: string
  object: KubeObject
}

/** Of failed writes no event tells: so many wait at most. */
const limit = 256

/**
 * Holds the writes of this server that are under way, by key. Several are under way at once if the engine is another
 * process.
 */
export class OwnWrites {
  readonly #writes = new Map<string, OwnWrite>()

  begin(key: string, write: OwnWrite): void {
    this.#writes.set(key, write)
    if (this.#writes.size <= limit) return
    const [oldest] = this.#writes.keys()
    this.#writes.delete(oldest!)
  }

  /**
   * Returns the write of this key that was under way, and forgets it. Called when an event of the key arrives: either
   * the write caused the event, or another write won against it.
   */
  end(key: string): OwnWrite | undefined {
    const write = this.#writes.get(key)
    if (write) this.#writes.delete(key)
    return write
  }
}
