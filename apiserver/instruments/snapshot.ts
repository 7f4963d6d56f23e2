import { noteStored } from '../../shared/api/exact-json.ts'
import { badRequest } from '../../shared/api/status-errors.ts'
import { isOfMachine, isSnapshot, type Snapshot } from '../storage/snapshot.ts'
import type { Storage } from '../storage/storage.ts'

export interface Restored {
  created: number
  changed: number
  deleted: number
}

const everything = '/registry/'
/** They come before what needs them, and go after it. */
const first = ['/registry/apiextensions.k8s.io/customresourcedefinitions/', '/registry/core/namespaces/']

const isFirst = (key: string): boolean => first.some((prefix) => key.startsWith(prefix))

async function takeSnapshot(storage: Storage): Promise<Snapshot> {
  const { entries, revision } = await storage.list({ prefix: everything })
  const ours = entries.filter(({ key }) => !isOfMachine(key))
  return { revision, entries: ours.map(({ key, value }) => ({ key, value })) }
}

/**
 * Makes all objects what they were, by ordinary writes: watchers see exactly what changes, resourceVersions go on,
 * and no client has to list again. Unchanged objects are not written.
 */
async function restoreSnapshot(storage: Storage, snapshot: Snapshot): Promise<Restored> {
  const wanted = new Map(snapshot.entries.map(({ key, value }) => [key, value]))
  const { entries } = await storage.list({ prefix: everything })
  const surplus = entries.filter(({ key }) => !wanted.has(key) && !isOfMachine(key)).map(({ key }) => key)
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
  return restored
}

function checkSnapshot(value: unknown): Snapshot {
  if (!isSnapshot(value)) throw badRequest('this is no snapshot of a cluster')
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
  #start: Snapshot = { revision: 1, entries: [] }

  constructor(storage: Storage) {
    this.#storage = storage
  }

  /** What there is now is what a reset goes back to. */
  async markStart(): Promise<void> {
    this.#start = await this.take()
  }

  take(): Promise<Snapshot> {
    return takeSnapshot(this.#storage)
  }

  /** Rejects with a StatusError (400) for what is no {@link Snapshot}. */
  async restore(snapshot: unknown): Promise<Restored> {
    return restoreSnapshot(this.#storage, checkSnapshot(snapshot))
  }

  reset(): Promise<Restored> {
    return this.restore(this.#start)
  }
}
