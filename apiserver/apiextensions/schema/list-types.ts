import { parseExact, toJson } from '../../../shared/api/exact-json.ts'
import { duplicate, invalid } from '../../validation/field-error.ts'
import type { FieldError } from '../../validation/field-errors.ts'
import { additionalOf, isObject, itemsOf, type JSONSchemaProps, ownProperty } from './json-schema.ts'
import { mentions } from './mentions.ts'

/** Lists of type set hold each value once; those of type map hold each combination of their keys once. */
export function validateListTypes(value: unknown, schema: JSONSchemaProps | undefined, path = ''): FieldError[] {
  if (schema === undefined || !mentions(schema, 'x-kubernetes-list-type')) return []
  if (Array.isArray(value)) return validateList(value, schema, path)
  if (!isObject(value)) return []
  const additional = additionalOf(schema)
  return Object.entries(value).flatMap(([key, field]) => {
    const property = ownProperty(schema.properties, key)
    if (property !== undefined) return validateListTypes(field, property, path === '' ? key : `${path}.${key}`)
    return validateListTypes(field, additional, `${path}[${key}]`)
  })
}

function validateList(items: unknown[], schema: JSONSchemaProps, path: string): FieldError[] {
  const errors: FieldError[] = []
  const identity = identityOf(schema)
  const stray =
    schema['x-kubernetes-list-type'] === 'map' ? items.findIndex((item) => item !== null && !isObject(item)) : -1
  if (stray !== -1)
    errors.push(invalid(`${path}[${stray}]`, items[stray], 'must be an object for an array of list-type map'))
  else if (identity !== undefined) {
    const seen = new Set<string>()
    items.forEach((item, index) => {
      const id = identity(item)
      if (id === undefined) return
      const text = sortedJson(id)
      if (seen.has(text)) errors.push(duplicate(`${path}[${index}]`, parseExact(text)))
      seen.add(text)
    })
  }
  const itemSchema = itemsOf(schema)
  for (const [index, item] of items.entries()) errors.push(...validateListTypes(item, itemSchema, `${path}[${index}]`))
  return errors
}

/** What tells the items of a list of type set or map apart. */
export function identityOf(schema: JSONSchemaProps): ((item: unknown) => unknown) | undefined {
  switch (schema['x-kubernetes-list-type']) {
    case 'set':
      return (item) => item
    case 'map': {
      const keys = schema['x-kubernetes-list-map-keys'] ?? []
      return (item) =>
        isObject(item)
          ? Object.fromEntries(keys.filter((key) => Object.hasOwn(item, key)).map((key) => [key, item[key]]))
          : undefined
    }
    default:
      return undefined
  }
}

/** JSON with sorted keys: equal values give equal texts. */
export function sortedJson(value: unknown): string {
  return toJson(value, {
    replacer: (_, field) =>
      isObject(field)
        ? Object.fromEntries(Object.entries(field).sort(([left], [right]) => (left < right ? -1 : 1)))
        : field,
  })
}
