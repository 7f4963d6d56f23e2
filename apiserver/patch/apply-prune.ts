import type { JsonMap } from '../values/json-map.ts'
import { fieldsOf, type ManagedFieldsEntry } from './managed-fields.ts'
import { convertObject, type ManagedKind, typeIn } from './managed-kind.ts'
import { fieldSet, withNamedFields } from './structured-merge/field-set.ts'
import { difference, type FieldsV1, intersection, isEmpty, union, unionAll } from './structured-merge/fields.ts'
import { remove } from './structured-merge/remove.ts'
import type { Type } from './structured-merge/schema.ts'

const failedTo = 'failed to prune fields: failed to '

/**
 * The merged object without what the manager applied last time, leaves out now, and no other manager owns.
 * Of a list item or map entry only the manager's own is taken away; it goes itself when the manager was what held it.
 * What was applied in another version is looked at there. `applied` holds all of the configuration, its name included.
 */
export function prune(
  kind: ManagedKind,
  merged: JsonMap,
  previous: ManagedFieldsEntry,
  applied: FieldsV1,
  others: ManagedFieldsEntry[],
): JsonMap {
  const last = fieldsOf(previous)
  const then = previous.apiVersion ?? ''
  const typeThen = typeIn(kind, then)
  if (!typeThen || (then === kind.apiVersion && isEmpty(difference(last, applied)))) return merged
  const mergedThen = convertObject(
    kind,
    merged,
    kind.apiVersion,
    then,
    `${failedTo}convert merged object to last applied version: `,
  )
  const stripped = remove(typeThen, mergedThen, withNamedFields(typeThen, last))
  const kept = addBackOwned(kind, mergedThen, stripped, then, ownedByVersion(kind, applied, others))
  const gone = difference(named(typeThen, mergedThen), named(typeThen, kept))
  const pruned = remove(typeThen, mergedThen, intersection(gone, withNamedFields(typeThen, last)))
  return convertObject(kind, pruned, then, kind.apiVersion, 'failed to prune fields: ')
}

function ownedByVersion(kind: ManagedKind, applied: FieldsV1, others: ManagedFieldsEntry[]): Map<string, FieldsV1> {
  const owned = new Map([[kind.apiVersion, [applied]]])
  for (const entry of others) {
    const version = entry.apiVersion ?? ''
    const sets = owned.get(version)
    if (sets) sets.push(fieldsOf(entry))
    else owned.set(version, [fieldsOf(entry)])
  }
  return new Map([...owned].map(([version, sets]) => [version, unionAll(sets)]))
}

/** Restores fields that were stripped although a manager owns them, in each version that owners wrote in. */
function addBackOwned(
  kind: ManagedKind,
  merged: JsonMap,
  stripped: JsonMap,
  version: string,
  owned: Map<string, FieldsV1>,
): JsonMap {
  const versions = [version, ...[...owned.keys()].filter((other) => other !== version)]
  return versions.reduce((left, other) => {
    const type = typeIn(kind, other)
    const fields = owned.get(other)
    if (!type || !fields) return left
    const all = convertObject(kind, merged, version, other)
    const remaining = named(type, convertObject(kind, left, version, other))
    const lost = difference(named(type, all), union(remaining, withNamedFields(type, fields)))
    return convertObject(kind, remove(type, all, lost), other, version)
  }, stripped)
}

/** All fields of an object, declared ones on the way included. */
const named = (type: Type, object: JsonMap): FieldsV1 => withNamedFields(type, fieldSet(type, object))
