import { notFound } from '../../shared/api/status/status-errors.ts'
import type { DeleteOptions, KubeObject } from '../../shared/api/types.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { KeyedTurns } from '../../shared/concurrency/keyed-turns.ts'
import type { FeatureGates } from '../../shared/config/feature-gates.ts'
import type { Lookup, LookupAll } from '../kind/lookup.ts'
import type { ResourceDefinition, ServiceAddresses, StrategyContext } from '../kind/resource-definition.ts'
import type { Storage } from '../storage/storage.ts'
import type { CachedObject } from '../watchcache/cached-object.ts'
import type { WatchCache } from '../watchcache/watch-cache.ts'
import type { WorkLimits } from '../work-limits.ts'
import type { AdmissionAttributes, AdmissionPlugin } from './admission-plugin.ts'
import type { Catalog } from './catalog.ts'
import { type DeletionRequests, OwnDeletionRequests } from './deletion-requests.ts'
import type { EndpointRemovals } from './endpoint-removals.ts'
import { objectKey } from './keys.ts'
import type { ObjectCaches } from './object-caches.ts'
import type { StoredObject } from './stored-object.ts'
import type { ObjectScope, RequestScope, WriteOptions } from './write-context.ts'
import { createObject } from './writes/create-object.ts'
import { type DeleteResult, deleteObject } from './writes/delete-object.ts'
import { type UpdateRequest, type UpdateResult, updateObject } from './writes/update-object.ts'
import type { WritePath } from './writes/write-path.ts'

export interface RegistryOptions {
  objects: ObjectCaches
  clock: Clock
  /** Sets how long readers see the last state of an object whose removal takes two writes; 0 by default. */
  lastStateMs?: number
  featureGates: FeatureGates
  limits: WorkLimits
  /** Returns a number from 0 up to 1, exclusive, for generated names. */
  random: () => number
  /** Gives addresses to Services; without it they get none. */
  serviceAddresses?: ServiceAddresses
  /** Knows when endpoints were removed; without it records of terminations say nothing about them. */
  endpointRemovals?: EndpointRemovals
  /** Knows who asked for deletions; by default the requests that this server has received. */
  deletionRequests?: DeletionRequests
  /** Returns the plugins in the order of their calls. A plugin may write through the registry. Default: no plugins. */
  admission?(registry: Registry): readonly AdmissionPlugin[]
}

/** The registry is the only code that creates, changes and deletes objects, for all kinds. */
export class Registry implements WritePath {
  readonly objects: ObjectCaches
  readonly catalog: Catalog
  readonly storage: Storage
  readonly clock: Clock
  readonly lastStateMs: number
  readonly featureGates: FeatureGates
  readonly limits: WorkLimits
  readonly random: () => number
  readonly deletionRequests: DeletionRequests
  /** Writers of a key take turns after they have lost a race once, so that they do not lose again. */
  readonly turns = new KeyedTurns()
  /** Returns an object, which callers must not change. */
  readonly lookup: Lookup
  /** Returns all objects of a resource, or of one namespace; callers must not change them. */
  readonly lookupAll: LookupAll
  readonly #serviceAddresses: ServiceAddresses | undefined
  readonly #endpointRemovals: EndpointRemovals | undefined
  readonly #admission: readonly AdmissionPlugin[]
  /** The plugins that take part in each phase. */
  readonly #admitting: readonly AdmissionPlugin[]
  readonly #validating: readonly AdmissionPlugin[]

  constructor({ objects, clock, featureGates, limits, random, ...parts }: RegistryOptions) {
    this.objects = objects
    this.catalog = objects.catalog
    this.storage = objects.storage
    this.lookup = objects.lookup
    this.lookupAll = objects.lookupAll
    this.clock = clock
    this.lastStateMs = parts.lastStateMs ?? 0
    this.featureGates = featureGates
    this.limits = limits
    this.random = random
    this.deletionRequests = parts.deletionRequests ?? new OwnDeletionRequests()
    this.#serviceAddresses = parts.serviceAddresses
    this.#endpointRemovals = parts.endpointRemovals
    this.#admission = parts.admission?.(this) ?? []
    this.#admitting = this.#admission.filter(({ admit }) => admit)
    this.#validating = this.#admission.filter(({ validate }) => validate)
  }

  cacheOf(definition: ResourceDefinition): WatchCache {
    return this.objects.cacheOf(definition)
  }

  /** Returns the decoded object, which callers must not change. */
  decoded(found: CachedObject): KubeObject {
    return this.objects.decoded(found)
  }

  /**
   * Returns the object as it is now, or as it was at the revision `asOf`, if that is remembered. Throws a StatusError
   * (404) if it does not exist.
   */
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

  strategyContext(
    { namespace, subresource, user }: RequestScope,
    { dryRun, warn }: Partial<WriteOptions> = {},
  ): StrategyContext {
    return {
      nowMs: this.clock.now(),
      namespace,
      namespaceLabels: () =>
        this.lookup({ group: '', plural: 'namespaces' }, undefined, namespace ?? '')?.metadata.labels,
      subresource,
      user,
      dryRun,
      warn,
      featureGates: this.featureGates,
      limits: this.limits,
      serviceAddresses: this.#serviceAddresses,
      deletionRequests: this.deletionRequests,
      endpointRemovals: this.#endpointRemovals,
    }
  }

  /**
   * Asks the mutating plugins, a second time where a webhook has changed the object. Returns a promise only where a
   * plugin must wait, as {@link Registry.validateAdmission} does.
   */
  admit(attributes: AdmissionAttributes): void | Promise<void> {
    const question = (plugin: AdmissionPlugin) => plugin.admit?.(attributes)
    return ask(this.#admitting, question)?.then(() => {
      // The plugins before a webhook have not seen what it changed.
      const { reinvocation } = attributes
      if (!reinvocation?.isNeeded) return
      reinvocation.isSecondRound = true
      return ask(this.#admitting, question)
    })
  }

  validateAdmission(attributes: AdmissionAttributes): void | Promise<void> {
    return ask(this.#validating, (plugin) => plugin.validate?.(attributes))
  }

  /**
   * Runs both phases of admission for objects that are not stored: evictions, bindings, tokens, connections. `check`
   * runs between the phases.
   */
  async admitUnstored(attributes: AdmissionAttributes, check?: () => void): Promise<void> {
    const plugins = this.#admission.filter(({ asksAll }) => asksAll)
    await ask(plugins, (plugin) => plugin.admit?.(attributes))
    check?.()
    await ask(plugins, (plugin) => plugin.validate?.(attributes))
  }
}

/** Asks the plugins one after the other. Returns a promise only if a plugin does. */
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
