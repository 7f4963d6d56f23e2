import { additionalOf, isObject, itemsOf, type JSONSchemaProps, type JsonObject, ownProperty } from './json-schema.ts'

/** Fills in, in place, what the schema's `default`s say; null where null is not allowed counts as absent. */
export function applyDefaults(value: unknown, schema: JSONSchemaProps | undefined): void {
  if (schema === undefined) return
  if (Array.isArray(value)) defaultItems(value, itemsOf(schema))
  else if (isObject(value)) defaultFields(value, schema)
}

function defaultItems(items: unknown[], schema: JSONSchemaProps | undefined): void {
  items.forEach((item, index) => {
    if (isForbiddenNull(item, schema) && schema?.default !== undefined) items[index] = structuredClone(schema.default)
    applyDefaults(items[index], schema)
  })
}

function defaultFields(object: JsonObject, schema: JSONSchemaProps): void {
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
        delete object[key]
        continue
      }
      object[key] = structuredClone(property.default)
    }
    applyDefaults(object[key], property)
  }
}

const isForbiddenNull = (value: unknown, schema: JSONSchemaProps | undefined): boolean =>
  value === null && schema !== undefined && schema.nullable !== true
