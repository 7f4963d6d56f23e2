import type { KubeObject } from '../../shared/api/types.ts'
import type { StorageEvent } from '../storage/storage.ts'

export interface OwnPut {
  value: string
  object: KubeObject
}

export interface OwnRemoval {
  revision: number
  /** Holds the last state, if that state was never stored. */
  lastValue: string | undefined
  /** The last state, as watchers see it. */
  object: KubeObject
}

/** Bounds the writes that wait for their events: no event tells of a failed write. */
const limit = 256

/**
 * Holds the writes of this server that are under way, by key. Several are under way at once if the engine is another
 * process.
 */
export class OwnWrites {
  readonly #writes = new Map<string, OwnPut | OwnRemoval>()

  begin(key: string, write: OwnPut | OwnRemoval): void {
    this.#writes.set(key, write)
    if (this.#writes.size <= limit) return
    const [oldest] = this.#writes.keys()
    this.#writes.delete(oldest!)
  }

  /**
   * Returns the object that the event puts, or the last state of the one that it removes, if this server made the write
   * and so has it at hand. The write is forgotten: either it caused the event, or another write won against it.
   */
  end({ type, key, value, lastValue, previous }: StorageEvent): KubeObject | undefined {
    const write = this.#writes.get(key)
    if (!write) return undefined
    this.#writes.delete(key)
    const isIt =
      'value' in write
        ? type === 'put' && write.value === value
        : type === 'delete' && write.revision === previous?.revision && write.lastValue === lastValue
    return isIt ? write.object : undefined
  }
}
