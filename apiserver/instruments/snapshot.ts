import { noteStored } from '../../shared/api/json/exact-json.ts'
import { badRequest } from '../../shared/api/status/status-errors.ts'
import { isOfMachine, isSnapshot, type Snapshot } from '../storage/snapshot.ts'
import type { Entry, Storage } from '../storage/storage.ts'

/** Counts the objects that a restore wrote. */
export interface Restored {
  created: number
  changed: number
  deleted: number
}

/**
 * Claims are entries that servers write for an object before the object is stored. They follow the objects, and a
 * snapshot does not restore them.
 */
export interface Claims {
  owns(key: string): boolean
  /** Brings the claims in line with the restored objects; `before` holds the entries from before the restore. */
  settle(before: readonly Entry[]): Promise<void>
}

const everything = '/registry/'
/** These objects come before what needs them, and go after it. */
const first = ['/registry/apiextensions.k8s.io/customresourcedefinitions/', '/registry/core/namespaces/']

const isFirst = (key: string): boolean => first.some((prefix) => key.startsWith(prefix))

async function takeSnapshot(storage: Storage, isLeft: (key: string) => boolean): Promise<Snapshot> {
  const { entries, revision } = await storage.list({ prefix: everything })
  const ours = entries.filter(({ key }) => !isLeft(key))
  return { revision, entries: ours.map(({ key, value }) => ({ key, value })) }
}

/**
 * Makes all objects what they were, by ordinary writes: watchers see exactly what changes, resourceVersions go on,
 * and no client has to list again. Unchanged objects are not written.
 */
async function restoreSnapshot(
  storage: Storage,
  snapshot: Snapshot,
  { isLeft, claims }: { isLeft: (key: string) => boolean; claims: Claims | undefined },
): Promise<Restored> {
  const ours = snapshot.entries.filter(({ key }) => !claims?.owns(key))
  const wanted = new Map(ours.map(({ key, value }) => [key, value]))
  const { entries } = await storage.list({ prefix: everything })
  const surplus = entries.filter(({ key }) => !wanted.has(key) && !isLeft(key)).map(({ key }) => key)
  const restored: Restored = { created: 0, changed: 0, deleted: 0 }
  const put = async (key: string): Promise<void> => {
    const outcome = await write(storage, key, wanted.get(key)!)
    if (outcome) restored[outcome]++
  }
  const remove = async (key: string): Promise<void> => {
    if ((await storage.delete({ key })).ok) restored.deleted++
  }
  const keys = Map.groupBy(wanted.keys(), (key) => isFirst(key))
  const gone = Map.groupBy(surplus, (key) => isFirst(key))
  await Promise.all((keys.get(true) ?? []).map(put))
  await Promise.all((keys.get(false) ?? []).map(put))
  await Promise.all((gone.get(false) ?? []).map(remove))
  await Promise.all((gone.get(true) ?? []).map(remove))
  await claims?.settle(entries)
  return restored
}

function checkSnapshot(value: unknown): Snapshot {
  if (!isSnapshot(value)) throw badRequest('not a valid snapshot of a cluster')
  return value
}

/** Retries while other writes come first. Undefined if the value is the same already. */
async function write(storage: Storage, key: string, value: string): Promise<'created' | 'changed' | undefined> {
  for (;;) {
    noteStored(value)
    const current = await storage.get(key)
    if (current?.value === value) return undefined
    const { ok } = await storage.put({ key, value, expect: current?.revision ?? 'absent' })
    if (ok) return current ? 'changed' : 'created'
  }
}

/** Snapshots of one store, and the one that a reset goes back to. */
export class Snapshots {
  readonly #storage: Storage
  readonly #claims: Claims | undefined
  readonly #isLeft = (key: string): boolean => isOfMachine(key) || this.#claims?.owns(key) === true
  #start: Snapshot = { revision: 1, entries: [] }

  constructor(storage: Storage, claims?: Claims) {
    this.#storage = storage
    this.#claims = claims
  }

  /** Makes the present objects those that a reset restores. */
  async markStart(): Promise<void> {
    this.#start = await this.take()
  }

  take(): Promise<Snapshot> {
    return takeSnapshot(this.#storage, this.#isLeft)
  }

  /** Rejects with a StatusError (400) if the argument is not a {@link Snapshot}. */
  async restore(snapshot: unknown): Promise<Restored> {
    const parts = { isLeft: this.#isLeft, claims: this.#claims }
    return restoreSnapshot(this.#storage, checkSnapshot(snapshot), parts)
  }

  reset(): Promise<Restored> {
    return this.restore(this.#start)
  }
}
