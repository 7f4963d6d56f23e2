import { toJson } from '../../shared/api/json/exact-json.ts'
import type { KubeObject } from '../../shared/api/types.ts'
import { type ManagedFieldsEntry, stringifyEntries } from '../patch/managed-fields.ts'
import { jsonOf } from '../values/recurring.ts'

/** The one encoding of a write. Everything that is ever sent of the object is cut from this string. */
export function encodeObject(object: KubeObject): string {
  const { metadata } = object
  const { name, generateName, namespace, uid, managedFields, ...others } = metadata
  others.resourceVersion = undefined
  const head = toJson({ name, generateName, namespace, uid, ...others })
  const fields = managedFields?.length
    ? `,"managedFields":${stringifyEntries(managedFields as ManagedFieldsEntry[])}`
    : ''
  let text = `{"metadata":${head.slice(0, -1)}${fields}}`
  for (const key in object) {
    if (key === 'metadata' || key === 'kind' || key === 'apiVersion') continue
    const json = jsonOf(object[key])
    if (json !== undefined) text += `,${JSON.stringify(key)}:${json}`
  }
  return `${text}}`
}
