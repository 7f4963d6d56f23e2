/** Adds what expressions of mutating policies may use beside the functions of every server. */
import type { Additions } from '../environment.ts'
import { Functions, type Signature } from '../overloads.ts'
import { type CelType, DYN, STRING, struct } from '../types.ts'
import { standardTables } from './index.ts'

const JSON_PATCH: readonly Signature[] = [
  ['jsonpatch.escapeKey(string): string', (key: string) => key.replaceAll('~', '~0').replaceAll('/', '~1')],
]

/** Any name may be a field, of any value: upstream compares the names of types with the path when it has the object. */
const anyField = { get: () => DYN }
const patchFields = new Map([
  ['op', STRING],
  ['path', STRING],
  ['from', STRING],
  ['value', DYN],
])
/** Upstream declares any other field with a type that no value has, and no name. */
const NAMELESS: CelType = struct('', new Map())
export const jsonPatchType: CelType = struct('JSONPatch', { get: (name) => patchFields.get(name) ?? NAMELESS })
export const objectType: CelType = struct('Object', anyField)

/** `JSONPatch`, `Object`, and the types of its fields: `Object.spec.template`. */
export const patchAdditions: Additions = {
  functions: new Functions(...standardTables, JSON_PATCH),
  structs: (name) => {
    if (name === jsonPatchType.name) return jsonPatchType
    if (name === objectType.name) return objectType
    return name.startsWith('Object.') ? struct(name, anyField) : undefined
  },
}
