import { conflict, notFound } from '../../../shared/api/status/status-errors.ts'
import type { TerminationRequest } from '../../../shared/api/termination.ts'
import type { DeleteOptions, KubeObject } from '../../../shared/api/types.ts'
import { withoutStorageVersion } from '../../kind/storage-version.ts'
import { StorageUnavailableError } from '../../storage/storage.ts'
import type { CachedObject } from '../../watchcache/cached-object.ts'
import { requestOf } from '../deletion-requests.ts'
import { objectKey } from '../keys.ts'
import { asShown, decodeStored, encodeWrite, type StoredObject } from '../stored-object.ts'
import type { ObjectScope, WriteOptions } from '../write-context.ts'
import { type DeleteDecision, decideDelete } from './before-delete.ts'
import { terminationReason } from './termination-reason.ts'
import type { WritePath } from './write-path.ts'
import { WriteTries } from './write-tries.ts'

export interface DeleteResult {
  stored: StoredObject
  /** Says whether the object is gone: false while a grace period or finalizers keep it. */
  removed: boolean
}

/**
 * Decides what the request does to the object, and does it in one write, as upstream's Delete. A removal takes two
 * writes if watchers must see the last state first ({@link DeleteDecision}'s `written`): an update, and the delete.
 * Throws a StatusError: 404 if the object does not exist, 409 if a precondition fails or the last try was lost.
 */
export async function deleteObject(
  registry: WritePath,
  scope: ObjectScope,
  deleteOptions: DeleteOptions,
  options: WriteOptions,
): Promise<DeleteResult> {
  const { definition, namespace, name } = scope
  const { dryRun } = options
  const cache = registry.cacheOf(definition)
  const key = objectKey(definition, namespace, name)
  for (const text of definition.strategy.deletionWarnings?.(deleteOptions) ?? []) options.warn(text)
  const tries = new WriteTries(registry)
  let turn: Disposable | undefined
  try {
    for (let attempt = 1; ; attempt++) {
      const current = attempt === 1 ? cache.get(key) : await cache.newest(key)
      if (!current) throw notFound(definition, name)
      const old = decodeStored(current, definition.strategy.sharesSpec)
      if (!options.isAdmitted) await admitDelete(registry, scope, old, options)
      checkPreconditions(scope, deleteOptions, old)
      const nowMs = registry.clock.now()
      const reason = terminationReason({ featureGates: registry.featureGates, warn: options.warn }, deleteOptions, old)
      const decision = decideDelete(definition, old, { options: deleteOptions, reason, nowMs })
      const isNoted = !dryRun && decision.outcome !== 'pending'
      const request = isNoted ? requestOf(scope, old, { ...deleteOptions, reason }, nowMs) : undefined
      const result = await noted(registry, { uid: old.metadata.uid, request, tries }, () =>
        apply(registry, scope, { decision, current, key }, options),
      )
      if (result) return result
      tries.lost(scope)
      if (attempt === 1) turn = await tries.turn(key)
    }
  } finally {
    turn?.[Symbol.dispose]()
  }
}

/**
 * Makes the write, and notes the request for it if the write was made. Takes an announced request back if the write was
 * not made.
 */
async function noted(
  { deletionRequests }: WritePath,
  { uid = '', request, tries }: { uid?: string; request: TerminationRequest | undefined; tries: WriteTries },
  write: () => Promise<DeleteResult | undefined>,
): Promise<DeleteResult | undefined> {
  if (!request) return write()
  const announced = deletionRequests.announce && (await deletionRequests.announce(uid, request, tries))
  try {
    const result = await write()
    if (result) deletionRequests.note(uid, request)
    else await announced?.takeBack()
    return result
  } catch (error) {
    // If the storage is not available, the outcome of the write is unknown, so the request stays announced.
    if (!(error instanceof StorageUnavailableError)) await announced?.takeBack()
    throw error
  }
}

async function admitDelete(
  registry: WritePath,
  { definition, namespace, name, user }: ObjectScope,
  old: KubeObject,
  { dryRun, warn, annotate, asked }: WriteOptions,
): Promise<void> {
  const options = asked && { kind: 'DeleteOptions', ...asked }
  const about = { operation: 'DELETE', definition, namespace, name } as const
  const attributes = { ...about, old, user, dryRun, options, warn, annotate }
  await registry.admit(attributes)
  await registry.validateAdmission(attributes)
}

/** Returns undefined if another write came first. */
async function apply(
  registry: WritePath,
  scope: ObjectScope,
  { decision, current, key }: { decision: DeleteDecision; current: CachedObject; key: string },
  { dryRun, fence }: WriteOptions,
): Promise<DeleteResult | undefined> {
  const { definition } = scope
  if (decision.outcome === 'pending') return { stored: current, removed: false }
  const removed = decision.outcome === 'remove'
  const encoding = encodeWrite(definition, decision.object, registry.limits.objectBytes)
  const { value, parts } = encoding instanceof Promise ? await encoding : encoding
  if (dryRun) return { stored: asShown(definition, { value, parts, revision: current.revision }), removed }
  let revision = current.revision
  if (!removed || decision.written) {
    registry.cacheOf(definition).expect(key, value, decision.object)
    const result = await registry.storage.put({ key, value, parts, expect: revision, freeing: true, fence })
    if (!result.ok) return undefined
    revision = result.revision
  }
  if (removed) {
    const isAsBefore = () => (definition.custom ? withoutStorageVersion(value) : value) === current.value
    const lastValue = decision.written || isAsBefore() ? undefined : value
    if (decision.written && registry.lastStateMs > 0) await registry.clock.sleep(registry.lastStateMs)
    registry.cacheOf(definition).expectRemoval(key, { revision, lastValue, object: decision.object })
    const result = await registry.storage.delete({ key, expect: revision, lastValue, fence })
    if (result.ok) await definition.strategy.afterDelete?.(decision.object, registry.strategyContext(scope))
    // If another has removed meanwhile what this request wrote last, it is gone as asked.
    else if (!decision.written || result.current) return undefined
  }
  return { stored: asShown(definition, { value, parts, revision }), removed }
}

function checkPreconditions(
  { definition, name }: ObjectScope,
  { preconditions }: DeleteOptions,
  { metadata }: KubeObject,
): void {
  // Upstream's storage of these kinds sets the deletion timestamp itself, and reports failed preconditions in the words
  // of its store.
  const marksItself = definition.strategy.deletion?.begin !== undefined && metadata.deletionTimestamp === undefined
  const { group, kind, plural } = definition
  const refused = (why: string) => conflict({ group, plural: marksItself ? plural : kind }, name, why)
  const differs = (what: string, asked: string, found: string | undefined) =>
    refused(`Precondition failed: ${what} in precondition: ${asked}, ${what} in object meta: ${found}`)
  if (typeof preconditions?.uid === 'string' && preconditions.uid !== metadata.uid) {
    if (marksItself) throw differs('UID', preconditions.uid, metadata.uid)
    throw refused(
      `the UID in the precondition (${preconditions.uid}) does not match the UID in record (${metadata.uid}). The object might have been deleted and then recreated`,
    )
  }
  const { resourceVersion } = preconditions ?? {}
  if (typeof resourceVersion === 'string' && resourceVersion !== metadata.resourceVersion) {
    if (marksItself) throw differs('ResourceVersion', resourceVersion, metadata.resourceVersion)
    throw refused(
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${metadata.resourceVersion}). The object might have been modified`,
    )
  }
}
