import { isKnownFormat } from '../schema/formats.ts'
import type { JSONSchemaProps } from '../schema/json-schema.ts'
import { allParts } from '../schema/parts.ts'

const ofNumbers: Record<string, string[]> = { integer: ['int32', 'int64'], number: ['float', 'double'] }

const isUnknown = (type: string, format: string): boolean =>
  type === 'string' ? !isKnownFormat(format) : type !== '' && !ofNumbers[type]?.includes(format)

/** Returns the formats in a schema that are not validated, each once, in the order of the schema. */
export function unrecognizedFormats(schema: JSONSchemaProps | undefined): string[] {
  if (schema === undefined) return []
  const { type = '', format } = schema
  const own = format && isUnknown(type, format) ? [format] : []
  return [...new Set([...own, ...allParts(schema).flatMap(unrecognizedFormats)])]
}
