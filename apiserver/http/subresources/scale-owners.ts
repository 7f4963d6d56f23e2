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

/** How many replicas there are, as the scale endpoint and nearly all that scales call it. */
export const specReplicas: FieldsV1 = { 'f:spec': { 'f:replicas': {} } }
const scaleVersion = 'autoscaling/v1'

const ownsReplicas = (entry: ManagedFieldsEntry): boolean => !isEmpty(intersection(fieldsOf(entry), specReplicas))

/**
 * The owners of an object's replicas, as entries of its Scale. Upstream of both:
 * apimachinery/pkg/util/managedfields/scalehandler.go.
 */
export const scaleOwners = ({ metadata }: KubeObject): ManagedFieldsEntry[] =>
  storedEntries(metadata.managedFields)
    .filter(ownsReplicas)
    .map((entry) => makeEntry({ ...entry, apiVersion: scaleVersion }, specReplicas))

/**
 * The object's entries once its Scale has these: a manager that lost the replicas there loses them here. One that
 * updated them gets an entry for them alone, since its entry in the Scale has another version.
 */
export function withScaleOwners(
  { metadata }: KubeObject,
  owners: readonly ManagedFieldsEntry[],
  apiVersion: string,
): ManagedFieldsEntry[] | undefined {
  const remaining = owners.filter(ownsReplicas)
  const kept = storedEntries(metadata.managedFields).flatMap((entry) => {
    if (!ownsReplicas(entry)) return [entry]
    const index = remaining.findIndex((owner) => isSameManager(owner, entry))
    if (index >= 0) {
      remaining.splice(index, 1)
      return [entry]
    }
    const fields = difference(fieldsOf(entry), specReplicas)
    return isEmpty(fields) ? [] : [makeEntry(entry, fields)]
  })
  // A real server forgets when.
  const added = remaining.map((owner) => makeEntry({ ...owner, apiVersion, time: undefined }, specReplicas))
  return encodeEntries([...kept, ...added])
}
