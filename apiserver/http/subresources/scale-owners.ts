import type { KubeObject } from '../../../shared/api/types.ts'
import {
  encodeEntries,
  fieldsOf,
  isSameManager,
  type ManagedFieldsEntry,
  makeEntry,
  storedEntries,
} from '../../patch/managed-fields.ts'
import { difference, type FieldsV1, intersection, isEmpty } from '../../patch/structured-merge/fields.ts'

/** Nearly all kinds that scale keep their number of replicas at this path, and so does the Scale. */
export const specReplicas: FieldsV1 = { 'f:spec': { 'f:replicas': {} } }
const scaleVersion = 'autoscaling/v1'

const owns = (entry: ManagedFieldsEntry, path: FieldsV1): boolean => !isEmpty(intersection(fieldsOf(entry), path))

/**
 * The owners of an object's replicas, which it has at `path`, as entries of its Scale. Upstream of both:
 * apimachinery/pkg/util/managedfields/scalehandler.go.
 */
export const scaleOwners = ({ metadata }: KubeObject, path: FieldsV1): ManagedFieldsEntry[] =>
  storedEntries(metadata.managedFields)
    .filter((entry) => owns(entry, path))
    .map((entry) => makeEntry({ ...entry, apiVersion: scaleVersion }, specReplicas))

/**
 * The object's entries once its Scale has these: a manager that lost the replicas there loses them here. One that
 * updated them gets an entry for them alone, since its entry in the Scale has another version.
 */
export function withScaleOwners(
  { metadata }: KubeObject,
  owners: readonly ManagedFieldsEntry[],
  { apiVersion, path }: { apiVersion: string; path: FieldsV1 },
): ManagedFieldsEntry[] | undefined {
  const remaining = owners.filter((owner) => owns(owner, specReplicas))
  const kept = storedEntries(metadata.managedFields).flatMap((entry) => {
    if (!owns(entry, path)) return [entry]
    const index = remaining.findIndex((owner) => isSameManager(owner, entry))
    if (index >= 0) {
      remaining.splice(index, 1)
      return [entry]
    }
    const fields = difference(fieldsOf(entry), path)
    return isEmpty(fields) ? [] : [makeEntry(entry, fields)]
  })
  // A real server forgets when.
  const added = remaining.map((owner) => makeEntry({ ...owner, apiVersion, time: undefined }, path))
  return encodeEntries([...kept, ...added])
}
