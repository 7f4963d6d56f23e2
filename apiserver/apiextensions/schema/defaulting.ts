import { additionalOf, isObject, itemsOf, type JSONSchemaProps, type JsonObject, ownProperty } from './json-schema.ts'

/** What becomes of a null that the schema does not allow and for which it has no default. */
export type ForbiddenNulls = 'drop' | 'keep'

/** Fills in, in place, what the schema's `default`s say, also in place of a null that the schema does not allow. */
export function applyDefaults(
  value: unknown,
  schema: JSONSchemaProps | undefined,
  nulls: ForbiddenNulls = 'drop',
): void {
  if (schema === undefined) return
  if (Array.isArray(value)) defaultItems(value, itemsOf(schema), nulls)
  else if (isObject(value)) defaultFields(value, schema, nulls)
}

function defaultItems(items: unknown[], schema: JSONSchemaProps | undefined, nulls: ForbiddenNulls): void {
  items.forEach((item, index) => {
    if (isForbiddenNull(item, schema) && schema?.default !== undefined) items[index] = structuredClone(schema.default)
    applyDefaults(items[index], schema, nulls)
  })
}

function defaultFields(object: JsonObject, schema: JSONSchemaProps, nulls: ForbiddenNulls): void {
  for (const [key, property] of Object.entries(schema.properties ?? {})) {
    if (property.default === undefined) continue
    if (!Object.hasOwn(object, key) || isForbiddenNull(object[key], property))
      object[key] = structuredClone(property.default)
  }
  const additional = additionalOf(schema)
  for (const key of Object.keys(object)) {
    const property = ownProperty(schema.properties, key) ?? additional
    if (property === undefined) continue
    if (isForbiddenNull(object[key], property)) {
      if (property.default === undefined) {
        if (nulls === 'drop') delete object[key]
        continue
      }
      object[key] = structuredClone(property.default)
    }
    applyDefaults(object[key], property, nulls)
  }
}

const isForbiddenNull = (value: unknown, schema: JSONSchemaProps | undefined): boolean =>
  value === null && schema !== undefined && schema.nullable !== true
