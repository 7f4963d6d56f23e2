import { conflict, invalid, modified, plainError } from '../../../shared/api/status/status-errors.ts'
import type { KubeObject, ObjectMeta } from '../../../shared/api/types.ts'
import { traitsOf } from '../../kind/subresource-traits.ts'
import { deepEqual } from '../../values/deep-equal.ts'
import { isComplete, noteComplete } from '../../values/recurring.ts'
import { messageKey } from '../keys.ts'
import type { ObjectScope } from '../write-context.ts'
import { otherNamespace } from './before-create.ts'

/**
 * Returns the body's resourceVersion; undefined if it is absent or 0. Throws upstream's error for text that is not a
 * number.
 */
export function bodyResourceVersion({ metadata }: KubeObject): bigint | undefined {
  const text = metadata.resourceVersion
  if (!text) return undefined
  if (!/^[0-9]+$/.test(text)) throw plainError(`strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`)
  return BigInt(text) || undefined
}

/** Throws a StatusError (409) if the body has a UID and the object has another, or does not exist. */
export const checkUid = (
  scope: ObjectScope,
  asked: string | undefined,
  found: string | undefined,
  dryRun?: boolean,
): void => checkPrecondition(scope, 'UID', asked, found, dryRun)

export function checkPrecondition(
  scope: ObjectScope,
  what: 'UID' | 'ResourceVersion',
  asked: string | undefined,
  found: string | undefined,
  dryRun?: boolean,
): void {
  if (!asked || asked === found) return
  const { definition, namespace, name } = scope
  throw conflict(
    definition,
    name,
    `StorageError: invalid object, Code: 4, Key: ${messageKey(definition, namespace, name, dryRun)}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: ${what} in precondition: ${asked}, ${what} in object meta: ${found ?? ''}`,
  )
}

/**
 * Throws a StatusError: 409 if the object is no longer the version that the client has seen, 422 if the body has no
 * resourceVersion and the kind requires one.
 */
export function checkResourceVersion(
  { definition, name }: ObjectScope,
  asked: bigint | undefined,
  currentRevision: number,
): void {
  if (asked === undefined) {
    if (definition.strategy.allowUnconditionalUpdate !== false) return
    const message = 'Invalid value: 0: must be specified for an update'
    throw invalid({ group: definition.group, kind: definition.plural }, name, `metadata.resourceVersion: ${message}`, [
      { reason: 'FieldValueInvalid', message, field: 'metadata.resourceVersion' },
    ])
  }
  if (asked !== BigInt(currentRevision)) throw modified(definition, name)
}

/** Throws a StatusError (400) if the body names another namespace than the request. */
export function checkNamespace(
  { definition, namespace }: Pick<ObjectScope, 'definition' | 'namespace'>,
  { metadata }: KubeObject,
): void {
  if (definition.namespaced && metadata.namespace && metadata.namespace !== namespace) throw otherNamespace()
}

/**
 * Keeps the fields that only the server sets, whatever the body says. `reason` is the reason that the object has from
 * now on. Throws a StatusError (400) if the body names another namespace.
 */
export function keepSystemFields(
  { definition, namespace }: ObjectScope,
  object: KubeObject,
  old: KubeObject,
  reason: string | undefined,
): void {
  const { metadata } = object
  checkNamespace({ definition, namespace }, object)
  metadata.namespace = old.metadata.namespace
  metadata.uid ??= old.metadata.uid
  metadata.creationTimestamp = old.metadata.creationTimestamp
  // A changed timestamp is refused only while the object is not being deleted; afterwards upstream ignores it.
  metadata.deletionTimestamp = old.metadata.deletionTimestamp ?? metadata.deletionTimestamp
  metadata.deletionGracePeriodSeconds ??= old.metadata.deletionGracePeriodSeconds
  metadata.generation = old.metadata.generation
  metadata.resourceVersion = old.metadata.resourceVersion
  metadata.reason = reason
}

/**
 * Keeps the half of the object that the write may not change: a write of the object keeps the status, a write of the
 * status or of its approval keeps the rest. A binding writes both.
 */
export function keepOtherHalf({ definition, subresource }: ObjectScope, object: KubeObject, old: KubeObject): void {
  const { writes } = traitsOf(subresource)
  if (!definition.subresources?.status || writes === 'both') return
  if (writes === 'status') {
    for (const field of new Set([...Object.keys(object), ...Object.keys(old)])) {
      if (field === 'metadata' || field === 'status') continue
      noteUnchanged(object[field], old[field], definition.schema)
      object[field] = old[field]
    }
    if (subresource === 'status' && definition.statusKeepsMetadata) keepMetadata(object.metadata, old.metadata)
  } else {
    object.status = old.status
  }
}

/** The member was decoded and completed again: if it is still the same, later writes need not do so. */
function noteUnchanged(value: unknown, old: unknown, schema: string): void {
  const isNews = value !== old && Object.isFrozen(old) && !isComplete(old, schema)
  if (isNews && typeof old === 'object' && old !== null && deepEqual(value, old)) noteComplete(old, schema)
}

function keepMetadata(metadata: ObjectMeta, { labels, annotations, finalizers, ownerReferences }: ObjectMeta): void {
  Object.assign(metadata, { labels, annotations, finalizers, ownerReferences })
}
