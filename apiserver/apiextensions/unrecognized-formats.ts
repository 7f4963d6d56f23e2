import { isKnownFormat } from './schema/formats.ts'
import type { JSONSchemaProps } from './schema/json-schema.ts'

/** Formats of strings that are not checked, each once, in the order of the schema. */
export function unrecognizedFormats(schema: JSONSchemaProps | undefined): string[] {
  if (schema === undefined) return []
  const own = schema.type === 'string' && schema.format && !isKnownFormat(schema.format) ? [schema.format] : []
  const children = [
    schema.items,
    schema.additionalProperties,
    schema.not,
    schema.allOf,
    schema.anyOf,
    schema.oneOf,
    Object.values(schema.properties ?? {}),
  ]
  const below = children.flat().flatMap((child) => (typeof child === 'object' ? unrecognizedFormats(child) : []))
  return [...new Set([...own, ...below])]
}
