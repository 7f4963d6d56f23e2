import type { ObjectMeta } from '../../shared/api/types.ts'
import type { ApiResource } from '../controller.ts'

/** An object that has owners. */
export interface Dependent {
  resource: ApiResource
  metadata: ObjectMeta
}

/**
 * Indexes dependents by UID and by the UIDs of their owners. Owners are not stored: whether an owner exists is asked of
 * the server.
 */
export class OwnerGraph {
  readonly #dependents = new Map<string, Dependent>()
  readonly #byOwner = new Map<string, Set<string>>()

  get(uid: string): Dependent | undefined {
    return this.#dependents.get(uid)
  }

  dependentsOf(ownerUid: string): Dependent[] {
    return [...(this.#byOwner.get(ownerUid) ?? [])].flatMap((uid) => this.#dependents.get(uid) ?? [])
  }

  put(dependent: Dependent): void {
    const uid = dependent.metadata.uid ?? ''
    this.remove(uid)
    const owners = dependent.metadata.ownerReferences ?? []
    if (owners.length === 0) return
    this.#dependents.set(uid, dependent)
    for (const owner of owners) this.#byOwner.set(owner.uid, (this.#byOwner.get(owner.uid) ?? new Set()).add(uid))
  }

  remove(uid: string): void {
    const dependent = this.#dependents.get(uid)
    if (!dependent) return
    this.#dependents.delete(uid)
    for (const owner of dependent.metadata.ownerReferences ?? []) {
      const siblings = this.#byOwner.get(owner.uid)
      if (siblings?.delete(uid) && siblings.size === 0) this.#byOwner.delete(owner.uid)
    }
  }
}
