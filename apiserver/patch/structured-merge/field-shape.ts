import { equals, isMap, type JsonMap } from '../../values/json-map.ts'
import { type FieldsV1, isEmpty } from './fields.ts'
import { formOf } from './form.ts'
import type { ListType, MapType, Type } from './schema.ts'

/** Holds all that the set of a value's fields depends on: its keys and items, not what they say. */
type Shape =
  | { kind: 'any' | 'scalar' | 'unset' | 'null' | 'atomic list' | 'atomic map' }
  /** Where Go's zero value of the parent holds something, being that is a difference. */
  | { kind: 'zero or not'; zero: unknown; isZero: boolean; shape: Shape }
  /** `frozen`: the frozen map that had the shape last, and has it still. */
  | { kind: 'map'; keys: string[]; children: Shape[]; frozen?: object }
  /** `identities`: of each item, the values of the list's keys; of a set, the item. */
  | { kind: 'list'; keys: string[]; identities: unknown[][]; children: Shape[] }

const any: Shape = { kind: 'any' }
const maxShapes = 8

/**
 * The sets of fields of the shapes that objects of one type came in lately. To see that an object has a known shape
 * takes a look at each of its keys, a fifth of the cost of making its set again.
 */
export class FieldShapes {
  readonly #type: Type
  readonly #known: { shape: Shape; fields: FieldsV1 }[] = []
  /** Sets seen once: what does not come again is not worth its shape. */
  readonly #seen = new WeakSet<FieldsV1>()

  constructor(type: Type) {
    this.#type = type
  }

  find(value: JsonMap): FieldsV1 | undefined {
    for (let index = 0; index < this.#known.length; index++) {
      const found = this.#known[index]!
      if (hasShape(found.shape, value)) return found.fields
    }
    return undefined
  }

  /** `fields`: what the object has beyond an empty one of its type. */
  learn(value: JsonMap, fields: FieldsV1): FieldsV1 {
    if (!isEmpty(fields)) {
      if (this.#seen.has(fields)) {
        if (this.#known.length === maxShapes) this.#known.pop()
        this.#known.unshift({ shape: shapeOf(this.#type, value, {}), fields })
      } else this.#seen.add(fields)
    }
    return fields
  }
}

function shapeOf(type: Type | undefined, value: unknown, zero: unknown): Shape {
  if (!type) return any
  const form = formOf(type, value)
  if (form === 'map' && isMap(value) && !type.map!.atomic) return shapeOfMap(type.map!, value, zero)
  const shape = form === 'list' && Array.isArray(value) ? shapeOfList(type.list!, value) : shapeOfOther(value)
  return zero === undefined ? shape : { kind: 'zero or not', zero, isZero: equals(value, zero), shape }
}

function shapeOfMap(type: MapType, value: JsonMap, zero: unknown): Shape {
  const keys = Object.keys(value)
  const zeros = zero === undefined || zero === null ? undefined : zero
  return {
    kind: 'map',
    keys,
    children: keys.map((key) => {
      const field = type.fields.get(key)
      return shapeOf(field?.type ?? type.element, value[key], zeros && field?.zero)
    }),
  }
}

function shapeOfList({ atomic, keys, element }: ListType, items: unknown[]): Shape {
  if (atomic) return { kind: 'atomic list' }
  return {
    kind: 'list',
    keys,
    identities: items.map((item) => (keys.length === 0 ? [item] : keys.map((key) => (item as JsonMap)[key]))),
    children: items.map((item) => shapeOf(element, item, undefined)),
  }
}

function shapeOfOther(value: unknown): Shape {
  if (value === undefined) return { kind: 'unset' }
  if (value === null) return { kind: 'null' }
  if (Array.isArray(value)) return { kind: 'atomic list' }
  return { kind: typeof value === 'object' ? 'atomic map' : 'scalar' }
}

function hasShape(shape: Shape, value: unknown): boolean {
  switch (shape.kind) {
    case 'scalar':
      return typeof value !== 'object' && value !== undefined
    case 'map':
      if (value === shape.frozen) return true
      if (!isMap(value) || !hasMapShape(shape.keys, shape.children, value)) return false
      if (Object.isFrozen(value)) shape.frozen = value
      return true
    case 'list':
      return Array.isArray(value) && hasListShape(shape.keys, shape.identities, shape.children, value)
    case 'any':
      return true
    case 'unset':
      return value === undefined
    case 'null':
      return value === null
    case 'atomic list':
      return Array.isArray(value)
    case 'atomic map':
      return isMap(value)
    case 'zero or not':
      return hasShape(shape.shape, value) && equals(value, shape.zero) === shape.isZero
  }
}

function hasMapShape(keys: string[], children: Shape[], value: JsonMap): boolean {
  let index = 0
  for (const key in value) {
    if (keys[index] !== key || !hasShape(children[index]!, value[key])) return false
    index++
  }
  return index === keys.length
}

function hasListShape(keys: string[], identities: unknown[][], children: Shape[], items: unknown[]): boolean {
  if (items.length !== children.length) return false
  for (let index = 0; index < items.length; index++) {
    const item = items[index]
    const identity = identities[index]!
    if (keys.length === 0) {
      if (item !== identity[0]) return false
    } else {
      if (!isMap(item)) return false
      for (let at = 0; at < keys.length; at++) if (item[keys[at]!] !== identity[at]) return false
    }
    if (!hasShape(children[index]!, item)) return false
  }
  return true
}
