import { toJson } from '../../shared/api/json/exact-json.ts'
import { additionalOf, isObject, itemsOf, type JSONSchemaProps, type JsonObject, ownProperty } from './json-schema.ts'

/** Bytes that defaults may add to one object: as many as a request may hold by default. */
export const maxDefaultBytes = 3 * 1024 * 1024

/** Says what happens to a null for which the schema allows no null and has no default. */
export type ForbiddenNulls = 'drop' | 'keep'

/**
 * Sets the schema's defaults in `value`, in place; a default also replaces a null that the schema does not allow.
 * Returns false if defaulting stopped early, because an object may not grow by more than {@link maxDefaultBytes}.
 */
export function applyDefaults(value: unknown, schema: JSONSchemaProps, nulls: ForbiddenNulls = 'drop'): boolean {
  const defaulting = new Defaulting(nulls)
  defaulting.fill(value, schema)
  return !defaulting.isFull
}

class Defaulting {
  readonly #nulls: ForbiddenNulls
  #bytesLeft = maxDefaultBytes

  constructor(nulls: ForbiddenNulls) {
    this.#nulls = nulls
  }

  get isFull(): boolean {
    return this.#bytesLeft < 0
  }

  fill(value: unknown, schema: JSONSchemaProps | undefined): void {
    if (schema === undefined || this.isFull) return
    if (Array.isArray(value)) this.#items(value, itemsOf(schema))
    else if (isObject(value)) this.#fields(value, schema)
  }

  #items(items: unknown[], schema: JSONSchemaProps | undefined): void {
    for (const [index, item] of items.entries()) {
      if (schema?.default !== undefined && isForbiddenNull(item, schema)) items[index] = this.#defaultOf(schema)
      this.fill(items[index], schema)
    }
  }

  #fields(object: JsonObject, schema: JSONSchemaProps): void {
    for (const [key, property] of defaultedOf(schema)) {
      if (this.isFull) return
      if (!Object.hasOwn(object, key) || isForbiddenNull(object[key], property)) object[key] = this.#defaultOf(property)
    }
    const additional = additionalOf(schema)
    for (const key of Object.keys(object)) {
      const property = ownProperty(schema.properties, key) ?? additional
      if (property === undefined) continue
      if (isForbiddenNull(object[key], property)) {
        if (property.default === undefined) {
          if (this.#nulls === 'drop') delete object[key]
          continue
        }
        object[key] = this.#defaultOf(property)
      }
      this.fill(object[key], property)
    }
  }

  #defaultOf(schema: JSONSchemaProps): unknown {
    this.#bytesLeft -= bytesOf(schema)
    return this.isFull ? undefined : structuredClone(schema.default)
  }
}

const isForbiddenNull = (value: unknown, schema: JSONSchemaProps | undefined): boolean =>
  value === null && schema !== undefined && schema.nullable !== true

const defaulted = new WeakMap<JSONSchemaProps, [string, JSONSchemaProps][]>()

/** The properties with a default: an object has few of them, where its schema may have many. */
function defaultedOf(schema: JSONSchemaProps): [string, JSONSchemaProps][] {
  let found = defaulted.get(schema)
  if (!found) {
    found = Object.entries(schema.properties ?? {}).filter(([, property]) => property.default !== undefined)
    defaulted.set(schema, found)
  }
  return found
}

const sizes = new WeakMap<JSONSchemaProps, number>()
/** A default needs this much besides its JSON. */
const bytesPerDefault = 16

function bytesOf(schema: JSONSchemaProps): number {
  let bytes = sizes.get(schema)
  if (bytes === undefined) {
    bytes = bytesPerDefault + toJson(schema.default).length
    sizes.set(schema, bytes)
  }
  return bytes
}
