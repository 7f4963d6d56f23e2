import type { KubeObject } from '../../shared/api/types.ts'
import type { ObjectRef } from '../../shared/client/client.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import type { Lookup, LookupAll } from '../kind/lookup.ts'
import type { ResourceDefinition } from '../kind/resource-definition.ts'
import type { Storage } from '../storage/storage.ts'
import type { CachedObject } from '../watchcache/cached-object.ts'
import type { WatchBacklog } from '../watchcache/watch-backlog.ts'
import { WatchCache } from '../watchcache/watch-cache.ts'
import type { Catalog } from './catalog.ts'
import { keyPrefix, objectKey } from './keys.ts'
import { decodeStored } from './stored-object.ts'

export interface ObjectCachesOptions {
  catalog: Catalog
  storage: Storage
  /** Bounds the backlog of all watches together. Default: each resource has its own. */
  watchBacklog?: WatchBacklog
  /** Gives the times of changes that a record shows. */
  clock?: Pick<Clock, 'now'>
}

/** Holds the objects of all resources in watch caches, which authorization, admission and handlers read. */
export class ObjectCaches {
  readonly catalog: Catalog
  readonly storage: Storage
  readonly #cacheOptions: ConstructorParameters<typeof WatchCache>[3]
  readonly #caches = new Map<string, WatchCache>()
  readonly #decoded = new WeakMap<CachedObject, KubeObject>()

  constructor({ catalog, storage, watchBacklog, clock }: ObjectCachesOptions) {
    this.catalog = catalog
    this.storage = storage
    this.#cacheOptions = { backlog: watchBacklog, ...(clock && { now: () => clock.now() }) }
    for (const definition of catalog.definitions()) if (!definition.virtual) this.cacheOf(definition)
  }

  async load(): Promise<void> {
    for (const cache of this.#caches.values()) await cache.load()
  }

  /**
   * Returns the cache of a resource. Its versions share one cache, as they share one set of keys; each version of a
   * custom resource has its own.
   */
  cacheOf(definition: ResourceDefinition): WatchCache {
    const id = cacheId(definition)
    const known = this.#caches.get(id)
    if (known) return known
    const cache = new WatchCache(definition, keyPrefix(definition), this.storage, this.#cacheOptions)
    this.#caches.set(id, cache)
    return cache
  }

  sizes(): { group: string; plural: string; size: number }[] {
    return [...this.#caches.values()].map(({ definition: { group, plural }, size }) => ({ group, plural, size }))
  }

  /** Serves resources from now on, and replaces those with the same group, version and plural: their watches end. */
  async install(definitions: readonly ResourceDefinition[]): Promise<void> {
    for (const definition of definitions) {
      const cache = new WatchCache(definition, keyPrefix(definition), this.storage, this.#cacheOptions)
      await cache.load()
      const id = cacheId(definition)
      this.#caches.get(id)?.close()
      this.#caches.set(id, cache)
    }
    this.catalog.add(definitions)
  }

  /** Stops serving resources; their watches end, and their objects stay in the store. */
  uninstall(definitions: readonly ResourceDefinition[]): void {
    this.catalog.delete(definitions)
    for (const id of definitions.map(cacheId)) {
      this.#caches.get(id)?.close()
      this.#caches.delete(id)
    }
  }

  /** Returns an object, which callers must not change. */
  readonly lookup: Lookup = (resource, namespace, name) => {
    const found = this.#caches.get(cacheId(resource))?.get(objectKey(resource, namespace, name))
    return found && this.decoded(found)
  }

  /** Returns a selectable field of an object without decoding the object; undefined when the object does not exist. */
  field(resource: Parameters<Lookup>[0], { namespace, name }: ObjectRef, field: string): string | undefined {
    return this.#caches
      .get(cacheId(resource))
      ?.get(objectKey(resource, namespace, name))
      ?.field(field)
  }

  /** Returns all objects of a resource, or of one namespace; callers must not change them. */
  readonly lookupAll: LookupAll = (resource, namespace) => {
    const cache = this.#caches.get(cacheId(resource))
    if (!cache?.size) return []
    const { items } = cache.list({ prefix: keyPrefix(resource, namespace), labels: [], fields: [] })
    return items.map((item) => this.decoded(item))
  }

  /** Returns the objects of a namespace that have this value in a selectable field; callers must not change them. */
  lookupBy<T>(
    resource: Parameters<Lookup>[0],
    namespace: string,
    { field, value }: { field: string; value: string },
  ): T[] {
    const prefix = keyPrefix(resource, namespace)
    const selection = { prefix, labels: [], fields: [{ field, value, equal: true }] }
    return (this.#caches.get(cacheId(resource))?.list(selection).items ?? []).map((item) => this.decoded(item) as T)
  }

  /** Returns access to all objects of a resource that is always served, and to the number of their changes. */
  follow(definition: ResourceDefinition): { objects(): Iterable<KubeObject>; version(): number } {
    const cache = this.cacheOf(definition)
    return { objects: () => this.lookupAll(definition), version: () => cache.changes }
  }

  /** Returns the decoded object, which callers must not change. */
  decoded(found: CachedObject): KubeObject {
    let object = this.#decoded.get(found)
    if (!object) {
      object = decodeStored(found)
      this.#decoded.set(found, object)
    }
    return object
  }

  sendBookmarks(): void {
    for (const cache of this.#caches.values()) cache.sendBookmarks()
  }

  close(): void {
    for (const cache of this.#caches.values()) cache.close()
  }
}

const cacheId = (resource: Pick<ResourceDefinition, 'group' | 'plural'> & Partial<ResourceDefinition>): string =>
  resource.custom || resource.conversion ? `${keyPrefix(resource)}@${resource.version}` : keyPrefix(resource)
