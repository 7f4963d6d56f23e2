import { parseExact, toJson } from '../../shared/api/json/exact-json.ts'
import { duplicate, invalid } from '../validation/field-error.ts'
import type { FieldError } from '../validation/field-errors.ts'
import { additionalOf, isObject, itemsOf, type JSONSchemaProps, ownProperty } from './json-schema.ts'
import { mentions } from './mentions.ts'
import { type SchemaWork, stepsPerError } from './schema-work.ts'

/**
 * Returns an error for each item that stands twice or more, at its second place: a list of type set holds each value
 * once, and a list of type map holds each combination of its keys once. `work` is the budget of the request.
 */
export function validateListTypes(value: unknown, schema: JSONSchemaProps, work: SchemaWork): FieldError[] {
  const errors: FieldError[] = []
  const isOver = work.endsIn(() => new ListCheck(work, errors).check(value, schema, ''))
  return isOver ? [...errors, work.error('')] : errors
}

class ListCheck {
  readonly #work: SchemaWork
  readonly #errors: FieldError[]

  constructor(work: SchemaWork, errors: FieldError[]) {
    this.#work = work
    this.#errors = errors
  }

  check(value: unknown, schema: JSONSchemaProps | undefined, path: string): void {
    if (schema === undefined || !mentions(schema, 'x-kubernetes-list-type')) return
    if (Array.isArray(value)) this.#list(value, schema, path)
    if (!isObject(value)) return
    const additional = additionalOf(schema)
    for (const [key, field] of Object.entries(value)) {
      const property = ownProperty(schema.properties, key)
      if (property !== undefined) this.check(field, property, path === '' ? key : `${path}.${key}`)
      else this.check(field, additional, `${path}[${key}]`)
    }
  }

  #list(items: unknown[], schema: JSONSchemaProps, path: string): void {
    const identity = identityOf(schema)
    const isMap = schema['x-kubernetes-list-type'] === 'map'
    const stray = isMap ? items.findIndex((item) => item !== null && !isObject(item)) : -1
    if (stray !== -1)
      this.#add(invalid(`${path}[${stray}]`, items[stray], 'must be an object for an array of list-type map'))
    else if (identity !== undefined) {
      const stepsPerItem = schema['x-kubernetes-list-map-keys']?.length ?? 0
      const seen = new Map<string, number>()
      items.forEach((item, index) => {
        this.#work.spend(stepsPerItem)
        const id = identity(item)
        if (id === undefined) return
        const text = sortedJson(id)
        const times = seen.get(text) ?? 0
        if (times === 1) this.#add(duplicate(`${path}[${index}]`, parseExact(text)))
        seen.set(text, times + 1)
      })
    }
    const itemSchema = itemsOf(schema)
    for (const [index, item] of items.entries()) this.check(item, itemSchema, `${path}[${index}]`)
  }

  #add(error: FieldError): void {
    this.#work.spend(stepsPerError)
    this.#errors.push(error)
  }
}

/**
 * Returns the function that computes the identity of an item in a list of type set or map; undefined for other lists.
 */
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
