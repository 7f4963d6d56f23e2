import { nextInt64 } from '../../../shared/api/json/exact-json.ts'
import { notFound } from '../../../shared/api/status/status-errors.ts'
import type { KubeObject } from '../../../shared/api/types.ts'
import { toTime } from '../../../shared/clock/timestamp.ts'
import { sameButTimes, trackFields } from '../../kind/field-manager.ts'
import type { StrategyContext } from '../../kind/resource-definition.ts'
import { traitsOf } from '../../kind/subresource-traits.ts'
import { errorsAsWritten } from '../../validation/emptied.ts'
import { invalidObject } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import { deepEqual } from '../../values/deep-equal.ts'
import { isComplete } from '../../values/recurring.ts'
import type { CachedObject } from '../../watchcache/cached-object.ts'
import type { AdmissionAttributes, AdmissionView } from '../admission-plugin.ts'
import { objectKey } from '../keys.ts'
import { asShown, copyDecoded, decodeStored, encodeWrite, type StoredObject, sameObject } from '../stored-object.ts'
import type { ObjectScope, WriteOptions } from '../write-context.ts'
import { writeAllocated } from './allocated-write.ts'
import {
  bodyResourceVersion,
  checkResourceVersion,
  checkUid,
  keepOtherHalf,
  keepSystemFields,
} from './before-update.ts'
import { validateMetadataUpdate } from './metadata-checks.ts'
import { afterAdmission, dedupOwners } from './owner-references.ts'
import { reasonAfterUpdate } from './termination-reason.ts'
import type { WritePath } from './write-path.ts'
import { WriteTries } from './write-tries.ts'

/**
 * Returns a copy of the present object, which may be changed except for the sets in managedFields. A caller that passes
 * `isChanged` changes only the members that it names, and the metadata: others may be frozen.
 */
export type CopyCurrent = (isChanged?: (member: string) => boolean) => KubeObject

export interface UpdateRequest {
  /**
   * Returns the new object, decoded and defaulted. Called again if another write came first. `current` is absent if
   * there is no object.
   */
  transform(current: CopyCurrent | undefined): KubeObject | Promise<KubeObject>
  /**
   * If true, a UID in the body must be that of the object, or the write conflicts; otherwise the write may not change
   * the UID.
   */
  uidIsPrecondition: boolean
  /** Says whether an absent object is created: as the kind's rule says, or always (apply). */
  createAbsent: 'if the kind allows it' | 'always' | 'never'
  /** Set for a subresource whose kind is not that of the object. */
  view?: AdmissionView
  /** Set for a write that clients may repeat without a change. */
  unchanged?: UnchangedWrite
}

/** Remembers writes that leave an object as it is. */
export interface UnchangedWrite {
  /** Returns whether this write has left this version of the object unchanged before. */
  isKnown(current: CachedObject): boolean
  /** Receives the object if the write has left this version of it unchanged. */
  found(current: CachedObject): void
  /** Receives the object if a known write leaves this version of it unchanged again. */
  repeated(current: CachedObject): void
}

export interface UpdateResult {
  stored: StoredObject
  created: boolean
}

/**
 * Reads, changes and writes the object, and tries again if another write came in between, as upstream's
 * GuaranteedUpdate. Creates an absent object if the request allows it. Throws a StatusError: 404 if the object does not
 * exist, 409 or 504 if the last try was lost.
 */
export async function updateObject(
  registry: WritePath,
  scope: ObjectScope,
  request: UpdateRequest,
  options: WriteOptions,
): Promise<UpdateResult> {
  const { definition, namespace, name } = scope
  const cache = registry.cacheOf(definition)
  const key = objectKey(definition, namespace, name)
  const tries = new WriteTries(registry)
  let turn: Disposable | undefined
  try {
    for (let attempt = 1; ; attempt++) {
      const current = attempt === 1 ? cache.get(key) : await cache.newest(key)
      if (!current) return createAbsent(registry, scope, request, options)
      if (request.unchanged?.isKnown(current) && (await isAdmittedAsIs(registry, scope, current, options))) {
        request.unchanged.repeated(current)
        return { stored: current, created: false }
      }
      const old = decodeStored(current, definition.strategy.sharesSpec)
      const object = await request.transform(copierOf(scope, old))
      if (request.uidIsPrecondition) {
        dedupOwners(object, options.warn)
        checkUid(scope, object.metadata.uid, old.metadata.uid, options.dryRun)
      }
      const resourceVersion = bodyResourceVersion(object)
      checkResourceVersion(scope, resourceVersion, current.revision)
      const stored = await replace(registry, scope, { object, old, current, key, view: request.view }, options)
      if (stored === current) request.unchanged?.found(current)
      if (stored) return { stored, created: false }
      tries.lost(scope)
      if (attempt === 1) turn = await tries.turn(key)
    }
  } finally {
    turn?.[Symbol.dispose]()
  }
}

/**
 * Returns what copies the old object. Writes through other subresources take parts of the spec; a binding is not
 * decoded.
 */
function copierOf({ definition: { schema }, subresource }: ObjectScope, old: KubeObject): CopyCurrent {
  const mayShare = subresource === undefined || subresource === 'status' || subresource === 'binding'
  const mayStay = (value: unknown): boolean =>
    subresource === 'binding' ? Object.isFrozen(value) : isComplete(value, schema)
  return (isChanged) =>
    copyDecoded(old, mayShare && isChanged ? (member) => !isChanged(member) && mayStay(old[member]) : undefined)
}

async function createAbsent(
  registry: WritePath,
  scope: ObjectScope,
  request: UpdateRequest,
  options: WriteOptions,
): Promise<UpdateResult> {
  const { definition, name } = scope
  const allowed =
    !scope.subresource &&
    (request.createAbsent === 'always' ||
      (request.createAbsent === 'if the kind allows it' && definition.strategy.allowCreateOnUpdate === true))
  if (!allowed && request.createAbsent !== 'if the kind allows it') throw notFound(definition, name)
  // Upstream decodes the body of a PUT before it looks the object up.
  const object = await request.transform(undefined)
  if (!allowed) throw notFound(definition, name)
  if (request.uidIsPrecondition) checkUid(scope, object.metadata.uid, undefined, options.dryRun)
  bodyResourceVersion(object)
  if (!options.dryRun) object.metadata.resourceVersion = undefined
  return { stored: await registry.create(scope, object, options), created: true }
}

interface Replacement extends Pick<UpdateRequest, 'view'> {
  object: KubeObject
  old: KubeObject
  current: CachedObject
  key: string
}

/** Returns undefined if another write came first. */
async function replace(
  registry: WritePath,
  scope: ObjectScope,
  { object, old, current, key, view }: Replacement,
  options: WriteOptions,
): Promise<StoredObject | undefined> {
  const { definition } = scope
  const { strategy } = definition
  const context = registry.strategyContext(scope, options)
  const reason = reasonAfterUpdate(scope, object, old, { featureGates: registry.featureGates, warn: options.warn })
  keepSystemFields(scope, object, old, reason)
  keepOtherHalf(scope, object, old)
  if (!options.managedFieldsAreSet) {
    const time = toTime(registry.clock.now())
    const write = { manager: options.fieldManager, subresource: scope.subresource, time }
    const converting = trackFields(definition, old, object, write)
    if (converting) await converting
  }
  const attributes = attributesOf(scope, { object, old }, options, view)
  const errors: FieldErrors = []
  const admitting = options.isAdmitted ? undefined : registry.admit(attributes)
  if (admitting) {
    await admitting
    // Plugins may not change these fields, so their changes are undone.
    keepSystemFields(scope, object, old, reason)
    keepOtherHalf(scope, object, old)
  }
  dedupOwners(object, options.warn, afterAdmission)
  const beginning = strategy.begin?.(object, old, errors, context)
  const allocation = beginning && (await beginning)
  const store = () =>
    storeReplacement(registry, scope, { object, old, current, key, attributes, context, errors }, options)
  return allocation ? writeAllocated(allocation, store) : store()
}

interface PreparedReplacement extends Replacement {
  attributes: AdmissionAttributes
  context: StrategyContext
  errors: FieldErrors
}

async function storeReplacement(
  registry: WritePath,
  scope: ObjectScope,
  { object, old, current, key, attributes, context, errors }: PreparedReplacement,
  options: WriteOptions,
): Promise<StoredObject | undefined> {
  const { definition, name, subresource } = scope
  const { strategy } = definition
  const refuseIfWrong = (errors: FieldErrors): void => {
    if (errors.length > 0)
      throw invalidObject(
        { group: definition.conversion?.storageGroup ?? definition.group, kind: definition.kind },
        name,
        errors,
        registry.limits.causeBytes,
      )
  }
  refuseIfWrong(errors)
  strategy.prepareForUpdate?.(object, old, context)
  // A status is no new intention of the user, even if the kind's generation counts annotations that a status write
  // changes.
  const isIntended = traitsOf(subresource).writes !== 'status' && strategy.generation?.changed(object, old)
  if (isIntended) object.metadata.generation = nextInt64(old.metadata.generation ?? 0)

  const check = (): FieldErrors => {
    const found: FieldErrors = []
    validateMetadataUpdate(scope, object, old, found)
    if (strategy.validateUpdate) strategy.validateUpdate(object, old, found, context)
    else strategy.validate?.(object, found, context)
    return found
  }
  refuseIfWrong(errorsAsWritten(object, check(), check))
  for (const text of strategy.warnings?.(object, old, context) ?? []) options.warn(text)
  const validating = options.isAdmitted ? undefined : registry.validateAdmission(attributes)
  if (validating) await validating

  const isUpToDate = !definition.custom || current.storedIn === definition.storageVersion
  if (isUpToDate && !saysNew(old, object) && sameButTimes(old, object)) return current
  // The answer of a dry run is the object before it is stored, which clears the link.
  if (!options.dryRun) object.metadata.selfLink = undefined
  const encoding = encodeWrite(definition, object, registry.limits.objectBytes)
  const { value, parts } = encoding instanceof Promise ? await encoding : encoding
  if (options.dryRun) return asShown(definition, { value, parts, revision: current.revision })
  if (isFinished(object) && !strategy.deletion?.isHeld(object)) {
    const removed = await registry.storage.delete({ key, expect: current.revision, fence: options.fence })
    if (!removed.ok) return undefined
    await strategy.afterDelete?.(object, context)
    return asShown(definition, { value, parts, revision: current.revision })
  }
  registry.cacheOf(definition).expect(key, value, object)
  const condition = { expect: current.revision, fence: options.fence, freeing: isEnding(object) }
  const result = await registry.storage.put({ key, value, parts, ...condition })
  return result.ok ? asShown(definition, { value, parts, revision: result.revision }) : undefined
}

/**
 * Returns whether the object is being deleted: writes that remove its finalizers or report the status of running parts
 * are part of its end.
 */
const isEnding = ({ metadata }: KubeObject): boolean => metadata.deletionTimestamp !== undefined

/** Returns whether the status has changed. Most writes change it, and then the rest need not be compared. */
const saysNew = (old: KubeObject, object: KubeObject): boolean => !deepEqual(old.status, object.status)

/** Asks admission about a write that changes nothing. Returns false if admission would change the object. */
async function isAdmittedAsIs(
  registry: WritePath,
  scope: ObjectScope,
  current: CachedObject,
  options: WriteOptions,
): Promise<boolean> {
  const old = registry.decoded(current)
  const object = copyDecoded(old)
  const attributes = attributesOf(scope, { object, old }, options, undefined)
  await registry.admit(attributes)
  if (!sameObject(old, object)) return false
  await registry.validateAdmission(attributes)
  return true
}

/** Returns whether only finalizers had kept the object, and they are gone. */
const isFinished = ({ metadata }: KubeObject): boolean =>
  metadata.deletionTimestamp !== undefined &&
  !metadata.deletionGracePeriodSeconds &&
  (metadata.finalizers ?? []).length === 0

function attributesOf(
  { definition, namespace, name, subresource, user }: ObjectScope,
  { object, old }: { object: KubeObject; old: KubeObject },
  { dryRun, warn, annotate, asked }: WriteOptions,
  view: AdmissionView | undefined,
): AdmissionAttributes {
  const options = asked && { kind: 'UpdateOptions', ...asked }
  const about = { operation: 'UPDATE', definition, namespace, name, subresource } as const
  return { ...about, object, old, user, dryRun, options, view, warn, annotate }
}
