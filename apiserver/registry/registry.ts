import { notFound } from '../../shared/api/status-errors.ts'
import type { DeleteOptions, KubeObject } from '../../shared/api/types.ts'
import type { ObjectRef } from '../../shared/client/client.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { KeyedTurns } from '../../shared/concurrency/keyed-turns.ts'
import type { AdmissionAttributes, AdmissionPlugin, Lookup, LookupAll } from '../admission/admission-plugin.ts'
import type {
  FeatureGates,
  ResourceDefinition,
  ServiceAddresses,
  StrategyContext,
} from '../kind/resource-definition.ts'
import type { Storage } from '../storage/storage.ts'
import type { CachedObject } from '../watchcache/cached-object.ts'
import type { WatchBacklog } from '../watchcache/watch-backlog.ts'
import { WatchCache } from '../watchcache/watch-cache.ts'
import type { Catalog } from './catalog.ts'
import { createObject } from './create-object.ts'
import { type DeleteResult, deleteObject } from './delete-object.ts'
import { DeletionRequests } from './deletion-requests.ts'
import type { EndpointRemovals } from './endpoint-removals.ts'
import { keyPrefix, objectKey } from './keys.ts'
import { decodeStored, type StoredObject } from './stored-object.ts'
import { type UpdateRequest, type UpdateResult, updateObject } from './update-object.ts'
import type { ObjectScope, RequestScope, WriteOptions } from './write-context.ts'
import type { WritePath } from './write-path.ts'

export interface RegistryOptions {
  catalog: Catalog
  storage: Storage
  clock: Clock
  featureGates: FeatureGates
  /** From 0 up to 1, for generated names. */
  random: () => number
  /** Of all watches. Default: of each resource on its own. */
  watchBacklog?: WatchBacklog
}

/** The only engine that creates, changes and deletes objects, for every kind alike. */
export class Registry implements WritePath {
  readonly catalog: Catalog
  readonly storage: Storage
  readonly clock: Clock
  readonly featureGates: FeatureGates
  readonly random: () => number
  /** In the order in which they are asked; the composition root fills it. */
  readonly admission: AdmissionPlugin[] = []
  /** Set by the composition root when Services get addresses. */
  serviceAddresses: ServiceAddresses | undefined
  readonly deletionRequests = new DeletionRequests()
  /** Set by the server. */
  endpointRemovals?: EndpointRemovals
  /** Writers of a key that lost a race once take turns, so that they do not lose again. */
  readonly turns = new KeyedTurns()
  readonly #watchBacklog: WatchBacklog | undefined
  readonly #caches = new Map<string, WatchCache>()
  readonly #decoded = new WeakMap<CachedObject, KubeObject>()

  constructor({ catalog, storage, clock, featureGates, random, watchBacklog }: RegistryOptions) {
    this.catalog = catalog
    this.storage = storage
    this.clock = clock
    this.featureGates = featureGates
    this.random = random
    this.#watchBacklog = watchBacklog
    for (const definition of catalog.definitions()) if (!definition.virtual) this.cacheOf(definition)
  }

  /** Takes in what the store already holds. */
  async load(): Promise<void> {
    for (const cache of this.#caches.values()) await cache.load()
  }

  /** Versions of a resource share one cache, as they share one set of keys; those of custom resources each have one. */
  cacheOf(definition: ResourceDefinition): WatchCache {
    const id = cacheId(definition)
    const known = this.#caches.get(id)
    if (known) return known
    const cache = new WatchCache(definition, keyPrefix(definition), this.storage, this.#watchBacklog)
    this.#caches.set(id, cache)
    return cache
  }

  /** How many objects there are of each. */
  sizes(): { group: string; plural: string; size: number }[] {
    return [...this.#caches.values()].map(({ definition: { group, plural }, size }) => ({ group, plural, size }))
  }

  /** Serves resources from now on, instead of what had their group, version and plural before: watches of that end. */
  async install(definitions: readonly ResourceDefinition[]): Promise<void> {
    for (const definition of definitions) {
      const cache = new WatchCache(definition, keyPrefix(definition), this.storage, this.#watchBacklog)
      await cache.load()
      const id = cacheId(definition)
      this.#caches.get(id)?.close()
      this.#caches.set(id, cache)
    }
    this.catalog.add(definitions)
  }

  /** Serves them no longer; their watches end, what is stored stays. */
  uninstall(definitions: readonly ResourceDefinition[]): void {
    this.catalog.delete(definitions)
    for (const id of definitions.map(cacheId)) {
      this.#caches.get(id)?.close()
      this.#caches.delete(id)
    }
  }

  /** `asOf`: a revision of the past, if it is remembered. Throws NotFound. */
  get({ definition, namespace, name, asOf }: ObjectScope & { asOf?: number }): CachedObject {
    const found = this.cacheOf(definition).get(objectKey(definition, namespace, name), asOf)
    if (!found) throw notFound(definition, name)
    return found
  }

  /** For readers that never change the object. */
  readonly lookup: Lookup = (resource, namespace, name) => {
    const found = this.#caches.get(cacheId(resource))?.get(objectKey(resource, namespace, name))
    return found && this.decoded(found)
  }

  /** A selectable field of an object, without reading the rest of it; undefined when there is no such object. */
  field(resource: Parameters<Lookup>[0], { namespace, name }: ObjectRef, field: string): string | undefined {
    return this.#caches
      .get(cacheId(resource))
      ?.get(objectKey(resource, namespace, name))
      ?.field(field)
  }

  /** All objects of a resource, or of one namespace of it, likewise only to be looked at. */
  readonly lookupAll: LookupAll = (resource, namespace) => {
    const cache = this.#caches.get(cacheId(resource))
    if (!cache?.size) return []
    const { items } = cache.list({ prefix: keyPrefix(resource, namespace), labels: [], fields: [] })
    return items.map((item) => this.decoded(item))
  }

  /** Those of a namespace with this value in a selectable field, likewise only to be looked at. */
  lookupBy<T>(
    resource: Parameters<Lookup>[0],
    namespace: string,
    { field, value }: { field: string; value: string },
  ): T[] {
    const prefix = keyPrefix(resource, namespace)
    const selection = { prefix, labels: [], fields: [{ field, value, equal: true }] }
    return (this.#caches.get(cacheId(resource))?.list(selection).items ?? []).map((item) => this.decoded(item) as T)
  }

  /** All objects of a resource that is always there, and how often they have changed. */
  follow(definition: ResourceDefinition): { objects(): Iterable<KubeObject>; version(): number } {
    const cache = this.cacheOf(definition)
    return { objects: () => this.lookupAll(definition), version: () => cache.changes }
  }

  /** What an object's value says, likewise only to be looked at. */
  decoded(found: CachedObject): KubeObject {
    let object = this.#decoded.get(found)
    if (!object) {
      object = decodeStored(found)
      this.#decoded.set(found, object)
    }
    return object
  }

  create(scope: RequestScope, object: KubeObject, options: WriteOptions): Promise<StoredObject> {
    return createObject(this, scope, object, options)
  }

  update(scope: ObjectScope, request: UpdateRequest, options: WriteOptions): Promise<UpdateResult> {
    return updateObject(this, scope, request, options)
  }

  delete(scope: ObjectScope, deleteOptions: DeleteOptions, options: WriteOptions): Promise<DeleteResult> {
    return deleteObject(this, scope, deleteOptions, options)
  }

  strategyContext({ namespace, subresource, user }: RequestScope): StrategyContext {
    const { featureGates, serviceAddresses, deletionRequests, endpointRemovals } = this
    const known = { featureGates, serviceAddresses, deletionRequests, endpointRemovals }
    return { nowMs: this.clock.now(), namespace, subresource, user, ...known }
  }

  /** A promise only where a plugin has to wait for something, as with {@link Registry.validateAdmission}. */
  admit(attributes: AdmissionAttributes): void | Promise<void> {
    const question = (plugin: AdmissionPlugin) => plugin.admit?.(attributes)
    return ask(this.admission, question)?.then(() => {
      // What a webhook changed, those before it have not seen.
      const { reinvocation } = attributes
      if (!reinvocation?.isNeeded) return
      reinvocation.isSecondRound = true
      return ask(this.admission, question)
    })
  }

  validateAdmission(attributes: AdmissionAttributes): void | Promise<void> {
    return ask(this.admission, (plugin) => plugin.validate?.(attributes))
  }

  /** Both, for what is not stored: evictions, bindings, tokens, connections. */
  async admitUnstored(attributes: AdmissionAttributes): Promise<void> {
    const plugins = this.admission.filter(({ asksAll }) => asksAll)
    await ask(plugins, (plugin) => plugin.admit?.(attributes))
    await ask(plugins, (plugin) => plugin.validate?.(attributes))
  }

  sendBookmarks(): void {
    for (const cache of this.#caches.values()) cache.sendBookmarks()
  }

  close(): void {
    for (const cache of this.#caches.values()) cache.close()
  }
}

/** One after the other. */
function ask(
  plugins: readonly AdmissionPlugin[],
  question: (plugin: AdmissionPlugin) => void | Promise<void>,
  from = 0,
): void | Promise<void> {
  for (let index = from; index < plugins.length; index++) {
    const waiting = question(plugins[index]!)
    if (waiting) return waiting.then(() => ask(plugins, question, index + 1))
  }
}

const cacheId = (resource: Pick<ResourceDefinition, 'group' | 'plural'> & Partial<ResourceDefinition>): string =>
  resource.custom || resource.conversion ? `${keyPrefix(resource)}@${resource.version}` : keyPrefix(resource)
