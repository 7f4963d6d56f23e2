import { additionalOf, itemsOf, type JSONSchemaProps } from './json-schema.ts'

/** A schema that stands directly below another. */
export interface SchemaPart {
  schema: JSONSchemaProps
  /** Says what the part describes: an item of a list, or the value of a key. */
  level: 'item' | 'field'
  /** Holds the end of the path to it: `.items`, `.properties[name]`, `.additionalProperties`. */
  step: string
}

/** The parts that describe the values of lists and maps: the structure of a schema. */
export function structureOf(schema: JSONSchemaProps): SchemaPart[] {
  const items = itemsOf(schema)
  const additional = additionalOf(schema)
  return [
    ...(items === undefined ? [] : [{ schema: items, level: 'item', step: '.items' } as const]),
    ...Object.entries(schema.properties ?? {}).map(
      ([key, child]) => ({ schema: child, level: 'field', step: `.properties[${key}]` }) as const,
    ),
    ...(additional === undefined
      ? []
      : [{ schema: additional, level: 'field', step: '.additionalProperties' } as const]),
  ]
}

/** The structure, and the parts that only restrict values: `not`, `allOf`, `anyOf` and `oneOf`. */
export const allParts = (schema: JSONSchemaProps): JSONSchemaProps[] =>
  [
    schema.items,
    schema.additionalProperties,
    schema.not,
    schema.allOf,
    schema.anyOf,
    schema.oneOf,
    Object.values(schema.properties ?? {}),
  ]
    .flat()
    .filter((part) => typeof part === 'object')
