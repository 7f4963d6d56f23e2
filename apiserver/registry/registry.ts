import { notFound } from '../../shared/api/status-errors.ts'
import type { DeleteOptions, KubeObject } from '../../shared/api/types.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { KeyedTurns } from '../../shared/concurrency/keyed-turns.ts'
import type { Lookup, LookupAll } from '../kind/lookup.ts'
import type {
  FeatureGates,
  ResourceDefinition,
  ServiceAddresses,
  StrategyContext,
} from '../kind/resource-definition.ts'
import type { Storage } from '../storage/storage.ts'
import type { CachedObject } from '../watchcache/cached-object.ts'
import type { WatchCache } from '../watchcache/watch-cache.ts'
import type { AdmissionAttributes, AdmissionPlugin } from './admission-plugin.ts'
import type { Catalog } from './catalog.ts'
import { createObject } from './create-object.ts'
import { type DeleteResult, deleteObject } from './delete-object.ts'
import { type DeletionRequests, OwnDeletionRequests } from './deletion-requests.ts'
import type { EndpointRemovals } from './endpoint-removals.ts'
import { objectKey } from './keys.ts'
import type { ObjectCaches } from './object-caches.ts'
import type { StoredObject } from './stored-object.ts'
import { type UpdateRequest, type UpdateResult, updateObject } from './update-object.ts'
import type { ObjectScope, RequestScope, WriteOptions } from './write-context.ts'
import type { WritePath } from './write-path.ts'

export interface RegistryOptions {
  objects: ObjectCaches
  clock: Clock
  featureGates: FeatureGates
  /** From 0 up to 1, for generated names. */
  random: () => number
  /** Default: Services get no addresses. */
  serviceAddresses?: ServiceAddresses
  /** Default: records of terminations say nothing about endpoints. */
  endpointRemovals?: EndpointRemovals
  /** Default: those of this server. */
  deletionRequests?: DeletionRequests
  /** In the order in which they are asked. A plugin may write through the registry. Default: none. */
  admission?(registry: Registry): readonly AdmissionPlugin[]
}

/** The only engine that creates, changes and deletes objects, for every kind alike. */
export class Registry implements WritePath {
  readonly objects: ObjectCaches
  readonly catalog: Catalog
  readonly storage: Storage
  readonly clock: Clock
  readonly featureGates: FeatureGates
  readonly random: () => number
  readonly deletionRequests: DeletionRequests
  /** Writers of a key that lost a race once take turns, so that they do not lose again. */
  readonly turns = new KeyedTurns()
  /** For readers that never change the object. */
  readonly lookup: Lookup
  /** All objects of a resource, or of one namespace of it, likewise only to be looked at. */
  readonly lookupAll: LookupAll
  readonly #serviceAddresses: ServiceAddresses | undefined
  readonly #endpointRemovals: EndpointRemovals | undefined
  readonly #admission: readonly AdmissionPlugin[]

  constructor({ objects, clock, featureGates, random, ...parts }: RegistryOptions) {
    this.objects = objects
    this.catalog = objects.catalog
    this.storage = objects.storage
    this.lookup = objects.lookup
    this.lookupAll = objects.lookupAll
    this.clock = clock
    this.featureGates = featureGates
    this.random = random
    this.deletionRequests = parts.deletionRequests ?? new OwnDeletionRequests()
    this.#serviceAddresses = parts.serviceAddresses
    this.#endpointRemovals = parts.endpointRemovals
    this.#admission = parts.admission?.(this) ?? []
  }

  cacheOf(definition: ResourceDefinition): WatchCache {
    return this.objects.cacheOf(definition)
  }

  /** What an object's value says, likewise only to be looked at. */
  decoded(found: CachedObject): KubeObject {
    return this.objects.decoded(found)
  }

  /** `asOf`: a revision of the past, if it is remembered. Throws NotFound. */
  get({ definition, namespace, name, asOf }: ObjectScope & { asOf?: number }): CachedObject {
    const found = this.cacheOf(definition).get(objectKey(definition, namespace, name), asOf)
    if (!found) throw notFound(definition, name)
    return found
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
    const known = {
      featureGates: this.featureGates,
      serviceAddresses: this.#serviceAddresses,
      deletionRequests: this.deletionRequests,
      endpointRemovals: this.#endpointRemovals,
    }
    return { nowMs: this.clock.now(), namespace, subresource, user, ...known }
  }

  /** A promise only where a plugin has to wait for something, as with {@link Registry.validateAdmission}. */
  admit(attributes: AdmissionAttributes): void | Promise<void> {
    const question = (plugin: AdmissionPlugin) => plugin.admit?.(attributes)
    return ask(this.#admission, question)?.then(() => {
      // What a webhook changed, those before it have not seen.
      const { reinvocation } = attributes
      if (!reinvocation?.isNeeded) return
      reinvocation.isSecondRound = true
      return ask(this.#admission, question)
    })
  }

  validateAdmission(attributes: AdmissionAttributes): void | Promise<void> {
    return ask(this.#admission, (plugin) => plugin.validate?.(attributes))
  }

  /** Both, for what is not stored: evictions, bindings, tokens, connections. */
  async admitUnstored(attributes: AdmissionAttributes): Promise<void> {
    const plugins = this.#admission.filter(({ asksAll }) => asksAll)
    await ask(plugins, (plugin) => plugin.admit?.(attributes))
    await ask(plugins, (plugin) => plugin.validate?.(attributes))
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
