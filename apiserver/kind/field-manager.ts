import { apiVersionOf } from '../../shared/api/api-version.ts'
import { plainError, requestEntityTooLarge } from '../../shared/api/status/status-errors.ts'
import type { KubeObject } from '../../shared/api/types.ts'
import { type ApplyRequest, apply, type FieldWrite, updateManagedFields } from '../patch/apply.ts'
import { ConversionError, type KindVersions, type ManagedKind } from '../patch/managed-kind.ts'
import { mapsInAtomicLists } from '../patch/structured-merge/atomic-lists.ts'
import { builtInType } from '../patch/structured-merge/built-in.ts'
import { maxManagedFields, TooManyFields } from '../patch/structured-merge/field-count.ts'
import { fieldPaths, union } from '../patch/structured-merge/fields.ts'
import type { Type } from '../patch/structured-merge/schema.ts'
import { hasEmptied, withEmptied } from '../validation/emptied.ts'
import { deepEqual } from '../values/deep-equal.ts'
import type { JsonMap } from '../values/json-map.ts'
import { withAskedConversions } from './asked-conversions.ts'
import { defaultResetFields } from './reset-fields.ts'
import type { ConversionWebhook, ResourceDefinition } from './resource-definition.ts'

const kinds = new WeakMap<ResourceDefinition, ManagedKind>()

function managedKind(definition: ResourceDefinition): ManagedKind {
  if (definition.custom) return definition.custom.managedKind
  let kind = kinds.get(definition)
  if (!kind) {
    kind = builtInKind(definition)
    kinds.set(definition, kind)
  }
  return kind
}

/** Returns the type of a resource's objects for structured merge. */
export const mergeType = (definition: ResourceDefinition): Type => managedKind(definition).type

function builtInKind(definition: ResourceDefinition): ManagedKind {
  const { kind, schema, subresources, resetFields, statusKeepsMetadata = false } = definition
  const halves = { hasStatus: subresources?.status === true, statusKeepsMetadata }
  return {
    apiVersion: apiVersionOf(definition),
    kind,
    type: builtInType(schema),
    ...(definition.siblings && { versions: versionsOf(definition.siblings) }),
    resetFields(subresource) {
      const more = resetFields?.[subresource ?? '']
      const fields = defaultResetFields(halves, subresource)
      return more ? union(fields, fieldPaths(...more)) : fields
    },
  }
}

const versionsOf = (siblings: NonNullable<ResourceDefinition['siblings']>): KindVersions => ({
  type: (apiVersion) => {
    const sibling = Object.hasOwn(siblings, apiVersion) ? siblings[apiVersion] : undefined
    return sibling && builtInType(sibling.schema)
  },
  convert(object, from, to) {
    const whole = object as unknown as KubeObject
    const changed = siblings[to]?.convert(whole) ?? siblings[from]?.convertBack(whole) ?? whole
    return { ...changed, apiVersion: to, kind: object.kind } as unknown as JsonMap
  },
})

/**
 * Sets the managedFields of an object that is to be created (`live` undefined), or to replace the live one. Never fails
 * a write: an object whose fields cannot be tracked (too many, or an item of a keyed list without its key) loses its
 * managedFields. A promise must be awaited: a webhook converts the object to the versions in which others own fields.
 */
export function trackFields(
  definition: ResourceDefinition,
  live: KubeObject | undefined,
  object: KubeObject,
  write: FieldWrite,
): Promise<void> | undefined {
  const webhook = live && definition.custom?.webhook
  if (webhook) return trackConverted(definition, webhook, (kind) => track(kind, live, object, write), object)
  try {
    track(managedKind(definition), live, object, write)
  } catch {
    object.metadata.managedFields = undefined
  }
  return undefined
}

async function trackConverted(
  definition: ResourceDefinition,
  webhook: ConversionWebhook,
  compute: (kind: ManagedKind) => void,
  object: KubeObject,
): Promise<void> {
  try {
    await withAskedConversions(managedKind(definition), webhook, compute)
  } catch {
    object.metadata.managedFields = undefined
  }
}

function track(kind: ManagedKind, live: KubeObject | undefined, object: KubeObject, write: FieldWrite): void {
  // Upstream compares a list that is owned as a whole by Go's DeepEqual, to which an empty list is not an absent one.
  const compared = hasEmptied(object) ? mapsInAtomicLists(kind.type, object) : undefined
  withEmptied(
    object,
    () => updateManagedFields(kind, live as JsonMap | undefined, object as unknown as JsonMap, write),
    ({ at, isShown }) => isShown || compared?.has(at) === true,
  )
}

/** Server-side apply: the merged object, to be decoded and defaulted, with its managedFields. Throws StatusError. */
export async function applyFields(
  definition: ResourceDefinition,
  live: KubeObject | undefined,
  config: JsonMap,
  request: ApplyRequest,
): Promise<JsonMap> {
  const kind = managedKind(definition)
  const compute = (kind: ManagedKind): JsonMap => apply(kind, live as JsonMap | undefined, config, request)
  const webhook = definition.custom?.webhook
  try {
    return webhook ? await withAskedConversions(kind, webhook, compute) : compute(kind)
  } catch (error) {
    if (error instanceof TooManyFields)
      throw requestEntityTooLarge(
        `the object has more fields than the server keeps owners of: limit is ${maxManagedFields}; apply an object of fewer fields, or create and update it without server-side apply`,
      ).atLimit('managedFields')
    if (error instanceof ConversionError) throw plainError(error.message)
    throw error
  }
}

/**
 * Returns whether the objects differ in nothing, or only in the times of their managers' last writes. Such a write is
 * not made. Kind and apiVersion do not count.
 */
export function sameButTimes(old: KubeObject, object: KubeObject): boolean {
  return (
    sameMembers(old.metadata, object.metadata, metadataApart) &&
    sameMembers(old, object, objectApart) &&
    sameEntries(old.metadata.managedFields, object.metadata.managedFields)
  )
}

const metadataApart: ReadonlySet<string> = new Set(['managedFields'])
const objectApart: ReadonlySet<string> = new Set(['metadata', 'kind', 'apiVersion'])
const entryApart: ReadonlySet<string> = new Set(['time'])

/** Compares as deepEqual does, without some members. */
function sameMembers(one: object, other: object, apart: ReadonlySet<string>): boolean {
  const [left, right] = [one as JsonMap, other as JsonMap]
  for (const name in left) if (!apart.has(name) && !deepEqual(left[name], right[name])) return false
  for (const name in right) if (right[name] !== undefined && left[name] === undefined && !apart.has(name)) return false
  return true
}

function sameEntries(before: unknown[] = [], after: unknown[] = []): boolean {
  if (before.length !== after.length) return false
  return before.every((entry, index) => sameMembers(entry as object, after[index] as object, entryApart))
}
