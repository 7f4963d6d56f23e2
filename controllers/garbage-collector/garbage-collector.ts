import { ignoreNotFound, isStatus } from '../../shared/api/status-error.ts'
import type { ObjectMeta } from '../../shared/api/types.ts'
import { createWorkQueue } from '../../shared/concurrency/work-queue.ts'
import {
  type ApiResource,
  type ApiResources,
  type Controller,
  type ControllerContext,
  supports,
} from '../controller.ts'
import type { Metadata } from '../informers.ts'
import type { OwnerReference } from '../workloads/ownership.ts'
import { type Dependent, OwnerGraph } from './owner-graph.ts'
import { createOwnerFinder, FOREGROUND, isDeletingDependents, isOrphaning, ORPHAN } from './owners.ts'

/** Reasons of what is gone, for dependents that are yet to be dealt with, or heard of; more than this are forgotten, oldest first. */
const MAX_REASONS = 10_000

/** Before an owner is let go: kinds are watched apart, and a dependent made just before may be heard of just after. */
const SETTLE_MS = 20

/** How often an object may be changed by others while it is decided about; beyond, it is looked at later. */
const MAX_CONFLICTS = 5

/** One object to look at: as a dependent that may have lost its owners, or as an owner that waits for its dependents. */
type Item = Dependent

/**
 * Deletes what has lost all its owners, for the reason the owner was deleted;
 * holds a foreground-deleted owner until its blocking dependents are gone; cuts dependents loose from an orphaned one.
 */
export function startGarbageCollector(context: ControllerContext, resources: ApiResources): Controller {
  const { client, informers, clock, log } = context
  const graph = new OwnerGraph()
  const owners = createOwnerFinder({ client, informers, resources })
  const reasons = new Map<string, string>()
  const watched = new Set<ApiResource>()
  /** The latest sight of what is queued, by UID. */
  const queued = new Map<string, Item>()

  function enqueue(item: Item): void {
    const uid = item.metadata.uid ?? ''
    // A sight of its own: a key that is queued again meanwhile must not count as done.
    queued.set(uid, { ...item })
    if (isOrphaning(item.metadata) || isDeletingDependents(item.metadata)) queue.addAfter(uid, SETTLE_MS)
    else queue.add(uid)
  }

  async function sync(uid: string): Promise<void> {
    const item = queued.get(uid)
    if (!item) return
    try {
      if (isOrphaning(item.metadata)) await orphanDependents(item)
      else if (isDeletingDependents(item.metadata)) await releaseWhenAlone(item)
      else await onLatest(item, collectIfAlone)
    } catch (error) {
      if (!isStatus(error, 'NotFound')) throw error
    }
    if (queued.get(uid) === item) queued.delete(uid)
  }

  /**
   * Kinds are watched apart: what is known of a dependent may be older than the news of its owner. So each write names the
   * version that it is for, and after a conflict it is decided again. Upstream: attemptToDeleteItem, deleteObject.
   */
  async function onLatest(item: Item, write: (item: Item) => Promise<void>, tries = MAX_CONFLICTS): Promise<void> {
    const { resource, metadata } = item
    try {
      await write(item)
    } catch (error) {
      if (!isStatus(error, 'Conflict') || tries === 0) throw error
      const { metadata: current } = await client.get<Metadata>(resource, refOf(metadata))
      if (current.uid === metadata.uid) await onLatest({ resource, metadata: current }, write, tries - 1)
    }
  }

  async function collectIfAlone({ resource, metadata }: Item): Promise<void> {
    if (metadata.deletionTimestamp) return
    const { solid, dangling, waiting, unresolvable } = await owners.classify(metadata)
    const gone = [...dangling, ...waiting]
    if (gone.length === 0) return
    if (solid.length + unresolvable.length > 0) {
      await setOwners({ resource, metadata }, [...solid, ...unresolvable])
      return
    }
    const { uid, resourceVersion } = metadata
    const dependents = graph.dependentsOf(metadata.uid ?? '')
    const policy = waiting.length > 0 && dependents.length > 0 ? 'Foreground' : 'Background'
    if (policy === 'Foreground' && dependents.some((dependent) => isDeletingDependents(dependent.metadata))) {
      await openCircle({ resource, metadata })
    }
    const reason =
      gone.map(({ uid }) => reasons.get(uid)).find(Boolean) ?? (await owners.reasonOf(waiting, metadata.namespace))
    await client.delete(resource, refOf(metadata), {
      preconditions: { uid, resourceVersion },
      propagationPolicy: policyOf(metadata) ?? policy,
      ...(reason && { reason }),
    })
  }

  /** Its owner and its dependent may wait for each other: it lets its owners go first. Upstream: attemptToDeleteItem. */
  async function openCircle({ resource, metadata }: Item): Promise<void> {
    const owners = metadata.ownerReferences ?? []
    await setOwners(
      { resource, metadata },
      owners.map((owner) => (owner.blockOwnerDeletion ? { ...owner, blockOwnerDeletion: false } : owner)),
    )
  }

  async function releaseWhenAlone({ resource, metadata }: Item): Promise<void> {
    const dependents = graph.dependentsOf(metadata.uid ?? '')
    const blocking = dependents.filter((dependent) => blocks(dependent, metadata.uid))
    if (blocking.length === 0) await removeFinalizer({ resource, metadata }, FOREGROUND)
    for (const dependent of dependents) if (!dependent.metadata.deletionTimestamp) enqueue(dependent)
  }

  async function orphanDependents({ resource, metadata }: Item): Promise<void> {
    for (const dependent of await dependentsAtServer(metadata)) {
      await onLatest(dependent, async (latest) => {
        const owners = latest.metadata.ownerReferences ?? []
        const others = owners.filter(({ uid }) => uid !== metadata.uid)
        if (others.length < owners.length) await setOwners(latest, others)
      }).catch(ignoreNotFound)
    }
    await removeFinalizer({ resource, metadata }, ORPHAN)
  }

  /** Those that were made just before the owner was deleted may not be heard of yet, and would be collected when it is gone. */
  async function dependentsAtServer({ uid, namespace }: ObjectMeta): Promise<Dependent[]> {
    const dependents: Dependent[] = []
    for (const resource of watched) {
      if (namespace && !resource.namespaced) continue
      const found = await client.list<Metadata>(resource, { namespace }).catch(ignoreNotFound)
      for (const { metadata } of found?.items ?? [])
        if (metadata.ownerReferences?.some((owner) => owner.uid === uid)) dependents.push({ resource, metadata })
    }
    return dependents
  }

  async function setOwners({ resource, metadata }: Dependent, ownerReferences: OwnerReference[]): Promise<void> {
    const references = ownerReferences.length > 0 ? ownerReferences : null
    const { uid, resourceVersion } = metadata
    const patch = { metadata: { uid, resourceVersion, ownerReferences: references } }
    await client.patch(resource, refOf(metadata), patch).catch(ignoreNotFound)
  }

  async function removeFinalizer({ resource, metadata }: Dependent, finalizer: string): Promise<void> {
    const current = (await client.get<Metadata>(resource, refOf(metadata))).metadata
    if (current.uid !== metadata.uid || !current.finalizers?.includes(finalizer)) return
    await client.patch(resource, refOf(metadata), {
      metadata: {
        resourceVersion: current.resourceVersion,
        finalizers: current.finalizers.filter((name) => name !== finalizer),
      },
    })
  }

  function observe(resource: ApiResource, metadata: ObjectMeta, before?: ObjectMeta): void {
    const item = { resource, metadata }
    graph.put(item)
    if (isOrphaning(metadata) || isDeletingDependents(metadata) || hasNewOwners(metadata, before)) enqueue(item)
    for (const owner of before?.ownerReferences ?? []) {
      if (owner.blockOwnerDeletion && !blocks(item, owner.uid)) recheckOwner(owner, metadata.namespace)
    }
  }

  function forget(metadata: ObjectMeta): void {
    const uid = metadata.uid ?? ''
    const dependents = graph.dependentsOf(uid)
    if (metadata.reason) remember(uid, metadata.reason)
    graph.remove(uid)
    for (const dependent of dependents) enqueue(dependent)
    for (const owner of metadata.ownerReferences ?? []) recheckOwner(owner, metadata.namespace)
  }

  /** A foreground-deleted owner may have waited for this one. */
  function recheckOwner(reference: OwnerReference, namespace?: string): void {
    for (const resource of watched) {
      if (resource.kind !== reference.kind) continue
      const owner = informers
        .metadata(resource)
        .get({ name: reference.name, ...(resource.namespaced && { namespace }) })
      if (owner?.metadata.uid === reference.uid && isDeletingDependents(owner.metadata)) {
        enqueue({ resource, metadata: owner.metadata })
      }
    }
  }

  function remember(uid: string, reason: string): void {
    reasons.set(uid, reason)
    const oldest = reasons.keys().next()
    if (reasons.size > MAX_REASONS && !oldest.done) reasons.delete(oldest.value)
  }

  const queue = createWorkQueue<string>({
    clock,
    concurrency: 8,
    work: sync,
    onError: (error, uid) => log.debug({ err: error, uid }, 'garbage collection will be tried again'),
  })
  resources.follow({
    onAdd(resource) {
      if (!isCollected(resource)) return
      watched.add(resource)
      informers.metadata(resource).addHandler({
        onAdd: ({ metadata }) => observe(resource, metadata),
        onUpdate: ({ metadata }, old) => observe(resource, metadata, old.metadata),
        onDelete: ({ metadata }) => forget(metadata),
      })
    },
    onRemove(resource) {
      for (const known of watched)
        if (known.group === resource.group && known.plural === resource.plural) watched.delete(known)
    },
  })
  return { close: () => queue.close() }
}

/** As upstream: events own nothing, and there are too many of them. */
const isCollected = (resource: ApiResource): boolean =>
  supports(resource, 'get', 'list', 'watch', 'delete') && resource.plural !== 'events'

const blocks = ({ metadata }: Dependent, ownerUid?: string): boolean =>
  metadata.ownerReferences?.some(({ uid, blockOwnerDeletion }) => uid === ownerUid && blockOwnerDeletion) === true

const hasNewOwners = ({ ownerReferences }: ObjectMeta, before?: ObjectMeta): boolean =>
  ownerReferences !== undefined && JSON.stringify(ownerReferences) !== JSON.stringify(before?.ownerReferences)

/** What its own finalizers say about its dependents. */
function policyOf({ finalizers }: ObjectMeta): 'Orphan' | 'Foreground' | undefined {
  if (finalizers?.includes(ORPHAN)) return 'Orphan'
  return finalizers?.includes(FOREGROUND) ? 'Foreground' : undefined
}

const refOf = ({ namespace, name = '' }: ObjectMeta) => ({ name, ...(namespace && { namespace }) })
