import { equals, isBare, isMap, type JsonMap } from '../../values/json-map.ts'
import { beginCount, countFields } from './field-count.ts'
import { FieldShapes } from './field-shape.ts'
import { type FieldsV1, isEmpty, leaf, noFields } from './fields.ts'
import { formOf } from './form.ts'
import { planFor } from './key-plan.ts'
import { itemElement } from './path-element.ts'
import type { ListType, MapType, Type } from './schema.ts'
import { SharedNodes } from './shared-nodes.ts'

/** Everything of a value that only one side of a comparison has: members and parents alike. */
export function everything(type: Type, value: unknown): FieldsV1 {
  switch (formOf(type, value)) {
    case 'scalar':
      return leaf
    case 'map':
      if (type.map!.atomic || !isMap(value) || isBare(value)) return leaf
      return type.map!.element ? ofMap(type.map!, value, true) : ofStruct(type.map!, value)
    case 'list':
      if (type.list!.atomic || !Array.isArray(value) || value.length === 0) return leaf
      return ofList(type.list!, value, true)
  }
}

/** Returns the fields in which an object differs from Go's zero value of its type. Its creator owns all of them. */
export function beyondZero(type: Type, value: JsonMap): FieldsV1 {
  let known = shapes.get(type)
  if (!known) {
    known = new FieldShapes(type)
    shapes.set(type, known)
  }
  const found = known.find(value)
  if (found) return found
  beginCount()
  return known.learn(value, beyond(type, value, {}) ?? noFields)
}
const shapes = new WeakMap<Type, FieldShapes>()

function beyond(type: Type, value: unknown, zero: unknown): FieldsV1 | undefined {
  if (zero === undefined) return everything(type, value)
  if (equals(value, zero) || value === undefined) return undefined
  const form = formOf(type, value)
  if (form === 'list' && !type.list!.atomic && !isBare(value)) return ofList(type.list!, value as unknown[], false)
  if (form === 'map' && !type.map!.atomic && !isBare(value)) {
    return type.map!.fields.size === 0
      ? ofMap(type.map!, value as JsonMap, false)
      : structBeyond(type.map!, value as JsonMap, zero)
  }
  return leaf
}

function ofStruct(type: MapType, value: JsonMap): FieldsV1 {
  const plan = planFor(type, value)
  countFields(plan.keys.length)
  const children = plan.types.map((childType, index) => everything(childType, value[plan.keys[index]!]))
  return plan.whole.node(plan.elements, children, { member: true })
}

function structBeyond(type: MapType, value: JsonMap, zero: unknown): FieldsV1 | undefined {
  const plan = planFor(type, value)
  const children = plan.types.map((childType, index) => {
    const key = plan.keys[index]!
    return beyond(childType, value[key], zero === null ? undefined : plan.zeros[index])
  })
  const node = plan.beyondZero.node(plan.elements, children, { member: false })
  return isEmpty(node) ? undefined : node
}

const nodesOf = new WeakMap<MapType | ListType, { whole: SharedNodes; below: SharedNodes }>()
function nodes(type: MapType | ListType, member: boolean): SharedNodes {
  let found = nodesOf.get(type)
  if (!found) {
    found = { whole: new SharedNodes(), below: new SharedNodes() }
    nodesOf.set(type, found)
  }
  return member ? found.whole : found.below
}

function ofMap(type: MapType, value: JsonMap, member: boolean): FieldsV1 {
  const keys = Object.keys(value)
  countFields(keys.length)
  keys.sort()
  const elements = keys.map((key) => type.fields.get(key)?.element ?? `f:${key}`)
  const children = keys.map((key) => everything(type.fields.get(key)?.type ?? type.element!, value[key]))
  return nodes(type, member).node(elements, children, { member })
}

function ofList(type: ListType, items: unknown[], member: boolean): FieldsV1 {
  countFields(items.length)
  const elements: string[] = []
  const children: FieldsV1[] = []
  for (const item of items) {
    elements.push(itemElement(type, item))
    children.push(everything(type.element, item))
  }
  if (inOrder(elements)) return nodes(type, member).node(elements, children, { member })
  // Items with the same key count as one, of which nothing is known but that it is there.
  const byElement = new Map<string, FieldsV1>()
  for (const [index, element] of elements.entries()) {
    byElement.set(element, byElement.has(element) ? leaf : children[index]!)
  }
  const order = [...byElement.keys()].sort()
  return nodes(type, member).node(
    order,
    order.map((element) => byElement.get(element)!),
    { member },
  )
}

/** Strictly: no element twice. */
function inOrder(elements: string[]): boolean {
  for (let index = 1; index < elements.length; index++) if (elements[index - 1]! >= elements[index]!) return false
  return true
}
