import type { ObjectMeta } from '../api/types.ts'
import type { ObjectRef } from './client.ts'
import { type ReflectorOptions, type ReflectorStore, startReflector } from './reflector.ts'

/** Handles changes, in order. Objects are shared: read, never change them. */
export interface InformerHandler<T> {
  /** `initial`: it was there before we looked. */
  onAdd?(object: T, initial: boolean): void
  onUpdate?(object: T, old: T): void
  /** The last state known. An object replaced by another of the same name is deleted, then added. */
  onDelete?(object: T): void
}

/** Returns a handler that tells of each object that is there, new or changed. */
export const everyState = <T>(tell: (object: T) => void): InformerHandler<T> => ({
  onAdd: (object) => tell(object),
  onUpdate: (object) => tell(object),
})
/** Returns a handler that tells of each change alike. */
export const everyChange = <T>(tell: (object: T) => void): InformerHandler<T> => ({
  ...everyState(tell),
  onDelete: (object) => tell(object),
})

/** Keeps a local copy of a collection and notifies handlers of its changes. */
export interface Informer<T> {
  get(ref: ObjectRef): T | undefined
  list(): IterableIterator<T>
  byIndex(index: string, value: string): T[]
  hasSynced(): boolean
  /** Resolves after the first list has been delivered to the handlers; rejects when the informer is closed before. */
  synced(): Promise<void>
  /** Adds a handler and calls it at once for every object that is already there. */
  addHandler(handler: InformerHandler<T>): void
  close(): Promise<void>
}

export interface InformerOptions<T> extends Omit<ReflectorOptions<T>, 'store'> {
  /** Each gives the values under which `byIndex` finds an object. */
  indexes?: Record<string, (object: T) => string[]>
  handlers?: InformerHandler<T>[]
  /**
   * Returns what to keep of an object, e.g. without the fields that are not read here. It makes a new object, keeps
   * name, uid and resourceVersion, and may get its own result again. `old` is what is kept of the object so far.
   */
  transform?(object: T, old?: T): T
}

export function startInformer<T extends { metadata: ObjectMeta }>(options: InformerOptions<T>): Informer<T> {
  const store = new IndexedStore<T>(options)
  const reflector = startReflector({ ...options, store })
  return {
    get: (ref) => store.objects.get(keyOf(ref)),
    list: () => store.objects.values(),
    byIndex: (index, value) => store.lookUp(index, value),
    hasSynced: () => store.hasSynced,
    synced: () => store.synced.promise,
    addHandler: (handler) => store.addHandler(handler),
    async close() {
      store.synced.reject(new Error('the informer was closed before its first list'))
      await reflector.stop()
    },
  }
}

class IndexedStore<T extends { metadata: ObjectMeta }> implements ReflectorStore<T> {
  readonly objects = new Map<string, T>()
  readonly synced = Promise.withResolvers<void>()
  hasSynced = false
  readonly #indexes: Index<T>[]
  readonly #handlers: InformerHandler<T>[]
  readonly #transform: (object: T, old?: T) => T

  constructor({ indexes = {}, handlers = [], transform = (object) => object }: InformerOptions<T>) {
    this.#indexes = Object.entries(indexes).map(([name, valuesOf]) => ({ name, valuesOf, objects: new Map() }))
    this.#handlers = [...handlers]
    this.#transform = transform
    // A caller that does not wait for the first list need not handle its failure.
    this.synced.promise.catch(() => {})
  }

  addHandler(handler: InformerHandler<T>): void {
    this.#handlers.push(handler)
    for (const object of this.objects.values()) handler.onAdd?.(object, true)
  }

  lookUp(index: string, value: string): T[] {
    const found = this.#indexes.find(({ name }) => name === index)
    if (!found) throw new Error(`no index "${index}"`)
    return [...(found.objects.get(value)?.values() ?? [])]
  }

  async replace(pages: AsyncIterable<T[]>): Promise<void> {
    const listed = new Set<string>()
    for await (const objects of pages) {
      for (const object of objects) {
        listed.add(keyOf(object.metadata))
        this.upsert(object)
      }
    }
    for (const [key, object] of [...this.objects]) if (!listed.has(key)) this.remove(object)
    this.hasSynced = true
    this.synced.resolve()
  }

  upsert(received: T): void {
    const key = keyOf(received.metadata)
    const old = this.objects.get(key)
    const object = this.#transform(received, old)
    if (old && old.metadata.uid !== object.metadata.uid) {
      this.remove(old)
    } else if (old) {
      if (old.metadata.resourceVersion === object.metadata.resourceVersion) return
      this.#set(key, object, old)
      for (const handler of this.#handlers) handler.onUpdate?.(object, old)
      return
    }
    this.#set(key, object)
    for (const handler of this.#handlers) handler.onAdd?.(object, !this.hasSynced)
  }

  remove(received: T): void {
    const object = this.#transform(received)
    const key = keyOf(object.metadata)
    const old = this.objects.get(key)
    if (!old) return
    this.objects.delete(key)
    this.#reindex(key, old, undefined)
    for (const handler of this.#handlers) handler.onDelete?.(object)
  }

  #set(key: string, object: T, old?: T): void {
    this.objects.set(key, object)
    this.#reindex(key, old, object)
  }

  #reindex(key: string, old: T | undefined, now: T | undefined): void {
    for (const { valuesOf, objects } of this.#indexes) {
      for (const value of old ? valuesOf(old) : []) {
        const those = objects.get(value)
        if (those?.delete(key) && those.size === 0) objects.delete(value)
      }
      for (const value of now ? valuesOf(now) : []) {
        const those = objects.get(value) ?? new Map<string, T>()
        objects.set(value, those.set(key, now!))
      }
    }
  }
}

interface Index<T> {
  name: string
  valuesOf(object: T): string[]
  /** Holds the objects of each value by their keys. */
  objects: Map<string, Map<string, T>>
}

const keyOf = ({ namespace, name }: { namespace?: string; name?: string }): string => `${namespace ?? ''}/${name ?? ''}`
