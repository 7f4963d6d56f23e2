import { ignoreNotFound, isStatus } from '../../shared/api/status/status-error.ts'
import type { ObjectMeta } from '../../shared/api/types.ts'
import type { Client } from '../../shared/client/client.ts'
import type { WorkQueue } from '../../shared/concurrency/work-queue.ts'
import {
  type ApiResource,
  type ApiResources,
  type Controller,
  type ControllerContext,
  supports,
} from '../controller.ts'
import type { Informers, Metadata } from '../informers/informers.ts'
import type { OwnerReference } from '../informers/ownership.ts'
import { createLoopQueue } from '../loop-queue.ts'
import { type Dependent, OwnerGraph } from './owner-graph.ts'
import { createOwnerFinder, FOREGROUND, isDeletingDependents, isOrphaning, ORPHAN, type OwnerFinder } from './owners.ts'

/**
 * Reasons of what is gone, for dependents that are yet to be dealt with, or heard of; more than this are forgotten,
 * oldest first.
 */
const MAX_REASONS = 10_000

/** Passes before an owner is let go: as kinds are watched apart, news of a dependent may come just after. */
const SETTLE_MS = 20

/** An object that others change more often while it is decided about is looked at later. */
const MAX_CONFLICTS = 5

/** An object to look at: a dependent that may have lost its owners, or an owner that waits for its dependents. */
type Item = Dependent

/**
 * Deletes what has lost all its owners, for the reason the owner was deleted;
 * holds a foreground-deleted owner until its blocking dependents are gone; cuts dependents loose from an orphaned one.
 */
class GarbageCollector implements Controller {
  readonly #client: Client
  readonly #informers: Informers
  readonly #graph = new OwnerGraph()
  readonly #owners: OwnerFinder
  readonly #reasons = new Map<string, string>()
  readonly #watched = new Set<ApiResource>()
  /** The latest sight of what is queued, by UID. */
  readonly #queued = new Map<string, Item>()
  readonly #queue: WorkQueue<string>

  constructor(context: ControllerContext, resources: ApiResources) {
    const { client, informers, clock, log } = context
    this.#client = client
    this.#informers = informers
    this.#owners = createOwnerFinder({ client, informers, resources })
    this.#queue = createLoopQueue(
      { clock, log, loop: 'garbage-collector-controller', object: (uid) => this.#nameOf(uid), concurrency: 8 },
      (uid) => this.#sync(uid),
    )
    resources.follow({
      onAdd: (resource) => {
        if (!isCollected(resource)) return
        this.#watched.add(resource)
        informers.metadata(resource).addHandler({
          onAdd: ({ metadata }) => this.#observe(resource, metadata),
          onUpdate: ({ metadata }, old) => this.#observe(resource, metadata, old.metadata),
          onDelete: ({ metadata }) => this.#forget(metadata),
        })
      },
      onRemove: (resource) => {
        for (const known of this.#watched)
          if (known.group === resource.group && known.plural === resource.plural) this.#watched.delete(known)
      },
    })
  }

  close(): Promise<void> {
    return this.#queue.close()
  }

  #nameOf(uid: string): string {
    const item = this.#queued.get(uid)
    if (!item) return `the object with UID ${uid}`
    const { namespace, name } = item.metadata
    return `${item.resource.kind} ${namespace ? `${namespace}/` : ''}${name}`
  }

  #enqueue(item: Item): void {
    const uid = item.metadata.uid ?? ''
    // A sight of its own: a key that is queued again meanwhile must not count as done.
    this.#queued.set(uid, { ...item })
    if (isOrphaning(item.metadata) || isDeletingDependents(item.metadata)) this.#queue.addAfter(uid, SETTLE_MS)
    else this.#queue.add(uid)
  }

  async #sync(uid: string): Promise<void> {
    const item = this.#queued.get(uid)
    if (!item) return
    try {
      if (isOrphaning(item.metadata)) await this.#orphanDependents(item)
      else if (isDeletingDependents(item.metadata)) await this.#releaseWhenAlone(item)
      else await this.#onLatest(item, (latest) => this.#collectIfAlone(latest))
    } catch (error) {
      if (!isStatus(error, 'NotFound')) throw error
    }
    if (this.#queued.get(uid) === item) this.#queued.delete(uid)
  }

  /**
   * Kinds are watched apart: what is known of a dependent may be older than the news of its owner. So each write names
   * the version that it is for, and after a conflict it is decided again. Upstream: attemptToDeleteItem, deleteObject.
   */
  async #onLatest(item: Item, write: (item: Item) => Promise<void>, tries = MAX_CONFLICTS): Promise<void> {
    const { resource, metadata } = item
    try {
      await write(item)
    } catch (error) {
      if (!isStatus(error, 'Conflict') || tries === 0) throw error
      const { metadata: current } = await this.#client.get<Metadata>(resource, refOf(metadata))
      if (current.uid === metadata.uid) await this.#onLatest({ resource, metadata: current }, write, tries - 1)
    }
  }

  async #collectIfAlone({ resource, metadata }: Item): Promise<void> {
    if (metadata.deletionTimestamp) return
    const { solid, dangling, waiting, unresolvable } = await this.#owners.classify(metadata)
    const gone = [...dangling, ...waiting]
    if (gone.length === 0) return
    if (solid.length + unresolvable.length > 0) {
      await this.#setOwners({ resource, metadata }, [...solid, ...unresolvable])
      return
    }
    const { uid, resourceVersion } = metadata
    const dependents = this.#graph.dependentsOf(metadata.uid ?? '')
    const policy = waiting.length > 0 && dependents.length > 0 ? 'Foreground' : 'Background'
    if (policy === 'Foreground' && dependents.some((dependent) => isDeletingDependents(dependent.metadata))) {
      await this.#openCircle({ resource, metadata })
    }
    const reason =
      gone.map(({ uid }) => this.#reasons.get(uid)).find(Boolean) ??
      (await this.#owners.reasonOf(waiting, metadata.namespace))
    await this.#client.delete(resource, refOf(metadata), {
      preconditions: { uid, resourceVersion },
      propagationPolicy: policyOf(metadata) ?? policy,
      ...(reason && { reason }),
    })
  }

  /** Stops blocking the object's owners: one of them may wait for its dependent. Upstream: attemptToDeleteItem. */
  async #openCircle({ resource, metadata }: Item): Promise<void> {
    const owners = metadata.ownerReferences ?? []
    await this.#setOwners(
      { resource, metadata },
      owners.map((owner) => (owner.blockOwnerDeletion ? { ...owner, blockOwnerDeletion: false } : owner)),
    )
  }

  async #releaseWhenAlone({ resource, metadata }: Item): Promise<void> {
    const dependents = this.#graph.dependentsOf(metadata.uid ?? '')
    const blocking = dependents.filter((dependent) => blocks(dependent, metadata.uid))
    if (blocking.length === 0) await this.#removeFinalizer({ resource, metadata }, FOREGROUND)
    for (const dependent of dependents) if (!dependent.metadata.deletionTimestamp) this.#enqueue(dependent)
  }

  async #orphanDependents({ resource, metadata }: Item): Promise<void> {
    for (const dependent of await this.#dependentsAtServer(metadata)) {
      await this.#onLatest(dependent, async (latest) => {
        const owners = latest.metadata.ownerReferences ?? []
        const others = owners.filter(({ uid }) => uid !== metadata.uid)
        if (others.length < owners.length) await this.#setOwners(latest, others)
      }).catch(ignoreNotFound)
    }
    await this.#removeFinalizer({ resource, metadata }, ORPHAN)
  }

  /**
   * Lists the dependents at the server: the informers may not know those that were made just before the owner was
   * deleted.
   */
  async #dependentsAtServer({ uid, namespace }: ObjectMeta): Promise<Dependent[]> {
    const dependents: Dependent[] = []
    for (const resource of this.#watched) {
      if (namespace && !resource.namespaced) continue
      const found = await this.#client.list<Metadata>(resource, { namespace }).catch(ignoreNotFound)
      for (const { metadata } of found?.items ?? [])
        if (metadata.ownerReferences?.some((owner) => owner.uid === uid)) dependents.push({ resource, metadata })
    }
    return dependents
  }

  async #setOwners({ resource, metadata }: Dependent, ownerReferences: OwnerReference[]): Promise<void> {
    const references = ownerReferences.length > 0 ? ownerReferences : null
    const { uid, resourceVersion } = metadata
    const patch = { metadata: { uid, resourceVersion, ownerReferences: references } }
    await this.#client.patch(resource, refOf(metadata), patch).catch(ignoreNotFound)
  }

  async #removeFinalizer({ resource, metadata }: Dependent, finalizer: string): Promise<void> {
    const current = (await this.#client.get<Metadata>(resource, refOf(metadata))).metadata
    if (current.uid !== metadata.uid || !current.finalizers?.includes(finalizer)) return
    await this.#client.patch(resource, refOf(metadata), {
      metadata: {
        resourceVersion: current.resourceVersion,
        finalizers: current.finalizers.filter((name) => name !== finalizer),
      },
    })
  }

  #observe(resource: ApiResource, metadata: ObjectMeta, before?: ObjectMeta): void {
    const item = { resource, metadata }
    this.#graph.put(item)
    if (isOrphaning(metadata) || isDeletingDependents(metadata) || hasNewOwners(metadata, before)) this.#enqueue(item)
    for (const owner of before?.ownerReferences ?? []) {
      if (owner.blockOwnerDeletion && !blocks(item, owner.uid)) this.#recheckOwner(owner, metadata.namespace)
    }
  }

  #forget(metadata: ObjectMeta): void {
    const uid = metadata.uid ?? ''
    const dependents = this.#graph.dependentsOf(uid)
    if (metadata.reason) this.#remember(uid, metadata.reason)
    this.#graph.remove(uid)
    for (const dependent of dependents) this.#enqueue(dependent)
    for (const owner of metadata.ownerReferences ?? []) this.#recheckOwner(owner, metadata.namespace)
  }

  /** A foreground-deleted owner may have waited for this one. */
  #recheckOwner(reference: OwnerReference, namespace?: string): void {
    for (const resource of this.#watched) {
      if (resource.kind !== reference.kind) continue
      const owner = this.#informers
        .metadata(resource)
        .get({ name: reference.name, ...(resource.namespaced && { namespace }) })
      if (owner?.metadata.uid === reference.uid && isDeletingDependents(owner.metadata)) {
        this.#enqueue({ resource, metadata: owner.metadata })
      }
    }
  }

  #remember(uid: string, reason: string): void {
    this.#reasons.set(uid, reason)
    const oldest = this.#reasons.keys().next()
    if (this.#reasons.size > MAX_REASONS && !oldest.done) this.#reasons.delete(oldest.value)
  }
}

export const startGarbageCollector = (context: ControllerContext, resources: ApiResources): Controller =>
  new GarbageCollector(context, resources)

/** Leaves out events, as upstream: they own nothing, and there are too many of them. */
const isCollected = (resource: ApiResource): boolean =>
  supports(resource, 'get', 'list', 'watch', 'delete') && resource.plural !== 'events'

const blocks = ({ metadata }: Dependent, ownerUid?: string): boolean =>
  metadata.ownerReferences?.some(({ uid, blockOwnerDeletion }) => uid === ownerUid && blockOwnerDeletion) === true

const hasNewOwners = ({ ownerReferences }: ObjectMeta, before?: ObjectMeta): boolean =>
  ownerReferences !== undefined && JSON.stringify(ownerReferences) !== JSON.stringify(before?.ownerReferences)

/** Returns what an object's own finalizers say about its dependents. */
function policyOf({ finalizers }: ObjectMeta): 'Orphan' | 'Foreground' | undefined {
  if (finalizers?.includes(ORPHAN)) return 'Orphan'
  return finalizers?.includes(FOREGROUND) ? 'Foreground' : undefined
}

const refOf = ({ namespace, name = '' }: ObjectMeta) => ({ name, ...(namespace && { namespace }) })
