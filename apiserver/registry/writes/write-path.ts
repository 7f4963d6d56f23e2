import type { KubeObject } from '../../../shared/api/types.ts'
import type { Clock } from '../../../shared/clock/clock.ts'
import type { KeyedTurns } from '../../../shared/concurrency/keyed-turns.ts'
import type { FeatureGates } from '../../../shared/config/feature-gates.ts'
import type { Lookup } from '../../kind/lookup.ts'
import type { ResourceDefinition, StrategyContext } from '../../kind/resource-definition.ts'
import type { Storage } from '../../storage/storage.ts'
import type { CachedObject } from '../../watchcache/cached-object.ts'
import type { WatchCache } from '../../watchcache/watch-cache.ts'
import type { WorkLimits } from '../../work-limits.ts'
import type { AdmissionAttributes } from '../admission-plugin.ts'
import type { DeletionRequests } from '../deletion-requests.ts'
import type { StoredObject } from '../stored-object.ts'
import type { RequestScope, WriteOptions } from '../write-context.ts'

/** Lists what creating, updating and deleting need from the registry, which implements it. */
export interface WritePath {
  readonly storage: Storage
  readonly clock: Clock
  /** Milliseconds that readers are given to see the last state of an object whose removal takes two writes. */
  readonly lastStateMs: number
  readonly limits: WorkLimits
  readonly featureGates: FeatureGates
  readonly random: () => number
  readonly deletionRequests: DeletionRequests
  readonly turns: KeyedTurns
  readonly lookup: Lookup
  cacheOf(definition: ResourceDefinition): WatchCache
  decoded(found: CachedObject): KubeObject
  strategyContext(scope: RequestScope, options?: Partial<WriteOptions>): StrategyContext
  admit(attributes: AdmissionAttributes): void | Promise<void>
  validateAdmission(attributes: AdmissionAttributes): void | Promise<void>
  /** Creates an object. Updates call it if the object is absent and the kind allows that. */
  create(scope: RequestScope, object: KubeObject, options: WriteOptions): Promise<StoredObject>
}
