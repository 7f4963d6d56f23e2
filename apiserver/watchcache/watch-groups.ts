import type { WatchGroup } from './watch-group.ts'
import type { CacheEvent } from './watch-record.ts'

/** Each group's chunk type is its own; here events are only pushed. */
type Group = WatchGroup<never>

/**
 * Finds the groups of watches that a change of a resource concerns. A thousand kubelets each watch the pods of one
 * node: a change reaches only the groups of the nodes that the pod has or had, and costs nothing for the others. The
 * same holds for any field selector that requires a field to equal a value.
 */
export class WatchGroups {
  readonly #byId = new Map<string, Group>()
  readonly #general = new Set<Group>()
  /** The groups by the field that they select by, then by its required value. */
  readonly #particular = new Map<string, Map<string, Set<Group>>>()

  get(id: string): Group | undefined {
    return this.#byId.get(id)
  }

  add(id: string, group: Group): void {
    this.#byId.set(id, group)
    this.#placeOf(group).add(group)
  }

  /** Does nothing where another group has the name now. */
  delete(id: string, group: Group): void {
    if (this.#byId.get(id) !== group) return
    this.#byId.delete(id)
    const place = this.#placeOf(group)
    place.delete(group)
    const wanted = wantedOf(group)
    if (!wanted || place.size > 0) return
    const values = this.#particular.get(wanted.field)
    values?.delete(wanted.value)
    if (values?.size === 0) this.#particular.delete(wanted.field)
  }

  clear(): void {
    this.#byId.clear()
    this.#general.clear()
    this.#particular.clear()
  }

  [Symbol.iterator](): Iterator<Group> {
    return this.#byId.values()
  }

  /** Yields the groups that the event may concern; their selections decide. */
  *concernedBy({ current, previous }: CacheEvent): Generator<Group> {
    yield* this.#general
    for (const [field, values] of this.#particular) {
      const [is, was] = [current?.field(field), previous?.field(field)]
      if (is !== undefined) yield* values.get(is) ?? []
      if (was !== undefined && was !== is) yield* values.get(was) ?? []
    }
  }

  #placeOf(group: Group): Set<Group> {
    const wanted = wantedOf(group)
    if (!wanted) return this.#general
    const values = this.#particular.get(wanted.field) ?? new Map<string, Set<Group>>()
    const place = values.get(wanted.value) ?? new Set<Group>()
    this.#particular.set(wanted.field, values.set(wanted.value, place))
    return place
  }
}

const wantedOf = ({ selection }: Group) => selection.fields.find(({ equal }) => equal)
