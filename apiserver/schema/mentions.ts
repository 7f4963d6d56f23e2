import type { JSONSchemaProps } from './json-schema.ts'
import { structureOf } from './parts.ts'

type Extension = 'x-kubernetes-embedded-resource' | 'x-kubernetes-list-type' | 'x-kubernetes-validations'
const known: Record<Extension, WeakMap<JSONSchemaProps, boolean>> = {
  'x-kubernetes-embedded-resource': new WeakMap(),
  'x-kubernetes-list-type': new WeakMap(),
  'x-kubernetes-validations': new WeakMap(),
}

/** Returns whether an extension is used anywhere in the structure of a schema. If not, values need no pass for it. */
export function mentions(schema: JSONSchemaProps | undefined, extension: Extension): boolean {
  if (schema === undefined) return false
  let found = known[extension].get(schema)
  if (found === undefined) {
    found = isSet(schema[extension]) || structureOf(schema).some((part) => mentions(part.schema, extension))
    known[extension].set(schema, found)
  }
  return found
}

const isSet = (value: unknown): boolean => (Array.isArray(value) ? value.length > 0 : Boolean(value))
