import { isKnownFormat } from './schema/formats.ts'
import type { JSONSchemaProps } from './schema/json-schema.ts'
import { allParts } from './schema/parts.ts'

/** Formats of strings that are not checked, each once, in the order of the schema. */
export function unrecognizedFormats(schema: JSONSchemaProps | undefined): string[] {
  if (schema === undefined) return []
  const own = schema.type === 'string' && schema.format && !isKnownFormat(schema.format) ? [schema.format] : []
  return [...new Set([...own, ...allParts(schema).flatMap(unrecognizedFormats)])]
}
