import type { ObjectMeta } from '../../shared/api/types.ts'

interface Owner {
  metadata: ObjectMeta
}

/**
 * Revisions of owners that a loop has written itself. A copy from before must not be acted on: what it had counted then
 * would be done again. Upstream: ConsistencyStore in pkg/controller/util/consistency.
 */
export class OwnWrites {
  readonly #revisions = new Map<string, number>()

  wrote({ metadata }: Owner): void {
    this.#revisions.set(metadata.uid ?? '', Number(metadata.resourceVersion))
  }

  /** Returns whether the copy is as new as what was written. If not, an update will arrive. */
  shows({ metadata }: Owner): boolean {
    return Number(metadata.resourceVersion) >= (this.#revisions.get(metadata.uid ?? '') ?? 0)
  }

  forget({ metadata }: Owner): void {
    this.#revisions.delete(metadata.uid ?? '')
  }
}
