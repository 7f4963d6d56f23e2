import type { KubeObject } from '../../shared/api/types.ts'

export interface OwnWrite {
  value: string
  object: KubeObject
}

/** Of failed writes no event tells: so many wait at most. */
const limit = 256

/**
 * What this server is about to write, by key: several writes are under way at once where the engine is another process.
 */
export class OwnWrites {
  readonly #writes = new Map<string, OwnWrite>()

  begin(key: string, write: OwnWrite): void {
    this.#writes.set(key, write)
    if (this.#writes.size <= limit) return
    const [oldest] = this.#writes.keys()
    this.#writes.delete(oldest!)
  }

  /** An event of this key has come: the write that was under way, which is this event's or has lost against it. */
  end(key: string): OwnWrite | undefined {
    const write = this.#writes.get(key)
    if (write) this.#writes.delete(key)
    return write
  }
}
