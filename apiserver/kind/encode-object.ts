import { toJson } from '../../shared/api/json/exact-json.ts'
import type { KubeObject } from '../../shared/api/types.ts'
import { entryPieces, type ManagedFieldsEntry } from '../patch/managed-fields.ts'
import { put } from '../values/json-map.ts'
import { jsonOf } from '../values/recurring.ts'

/** The one encoding of a write. Everything that is ever sent of the object is cut from this string. */
export const encodeObject = (object: KubeObject): string => encodePieces(object).join('')

/**
 * Returns the pieces whose concatenation is the JSON of an object. Every second piece is a text that other objects may
 * have as well: the set of fields of a manager, or the spec.
 */
export function encodePieces(object: KubeObject): string[] {
  const { metadata } = object
  const { name, generateName, namespace, uid, managedFields = [], ...others } = metadata
  others.resourceVersion = undefined
  const head = toJson({ name, generateName, namespace, uid, ...others })
  const pieces: string[] = []
  let own = `{"metadata":${head.slice(0, -1)}`
  for (const [index, entry] of (managedFields as ManagedFieldsEntry[]).entries()) {
    const { before, fields, after } = entryPieces(entry)
    pieces.push(`${own}${index === 0 ? ',"managedFields":[' : ','}${before}`, fields)
    own = after
  }
  own += managedFields.length > 0 ? ']}' : '}'
  let members: Record<string, unknown> = {}
  for (const key in object) {
    if (key === 'metadata' || key === 'kind' || key === 'apiVersion') continue
    const spec = key === 'spec' ? jsonOf(object.spec) : undefined
    if (spec === undefined) put(members, key, object[key])
    else {
      pieces.push(`${own}${jsonBehind(members)},"spec":`, spec)
      own = ''
      members = {}
    }
  }
  pieces.push(`${own}${jsonBehind(members)}}`)
  return pieces
}

/** Returns the JSON of members that follow others. */
function jsonBehind(members: Record<string, unknown>): string {
  const json = toJson(members)
  return json === '{}' ? '' : `,${json.slice(1, -1)}`
}
