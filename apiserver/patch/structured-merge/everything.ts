import { type FieldsV1, leaf } from './fields.ts'
import { planFor } from './key-plan.ts'
import { itemElement } from './path-element.ts'
import type { ListType, MapType, Type } from './schema.ts'
import { formOf, isBare, isMap, type JsonMap } from './values.ts'

/** Everything of a value that only one side of a comparison has: members and parents alike. */
export function everything(type: Type, value: unknown): FieldsV1 {
  switch (formOf(type, value)) {
    case 'scalar':
      return leaf
    case 'map':
      if (type.map!.atomic || !isMap(value) || isBare(value)) return leaf
      return type.map!.element ? ofMap(type.map!, value) : ofStruct(type.map!, value)
    case 'list':
      if (type.list!.atomic || !Array.isArray(value) || value.length === 0) return leaf
      return ofList(type.list!, value)
  }
}

/** A struct: of all values with the same keys and the same fields below, there is one node. */
function ofStruct(type: MapType, value: JsonMap): FieldsV1 {
  const plan = planFor(type, value)
  const { last } = plan
  const children: FieldsV1[] = []
  let same = last !== undefined
  for (let index = 0; index < plan.keys.length; index++) {
    const child = everything(plan.types[index]!, value[plan.keys[index]!])
    children.push(child)
    if (same && last!.children[index] !== child) same = false
  }
  if (same) return last!.node as FieldsV1
  const node = makeNode(plan.elements, children)
  plan.last = { children, node }
  return node
}

function ofMap(type: MapType, value: JsonMap): FieldsV1 {
  const keys = Object.keys(value).sort()
  return makeNode(
    keys.map((key) => type.fields.get(key)?.element ?? `f:${key}`),
    keys.map((key) => everything(type.fields.get(key)?.type ?? type.element!, value[key])),
  )
}

interface ListNode {
  elements: string[]
  children: FieldsV1[]
  node: FieldsV1
}
const lastOf = new WeakMap<ListType, ListNode>()

function ofList(type: ListType, items: unknown[]): FieldsV1 {
  const last = lastOf.get(type)
  const elements: string[] = []
  const children: FieldsV1[] = []
  let same = last !== undefined && last.elements.length === items.length
  for (let index = 0; index < items.length; index++) {
    const element = itemElement(type, items[index])
    const child = everything(type.element, items[index])
    elements.push(element)
    children.push(child)
    if (same && (last!.elements[index] !== element || last!.children[index] !== child)) same = false
  }
  if (same) return last!.node
  const node = listNode(elements, children)
  lastOf.set(type, { elements, children, node })
  return node
}

/** Items with the same key count as one, of which nothing is known but that it is there. */
function listNode(elements: string[], children: FieldsV1[]): FieldsV1 {
  const byElement = new Map<string, FieldsV1>()
  for (const [index, element] of elements.entries()) {
    byElement.set(element, byElement.has(element) ? leaf : children[index]!)
  }
  const order = [...byElement.keys()].sort()
  return makeNode(
    order,
    order.map((element) => byElement.get(element)!),
  )
}

function makeNode(elements: string[], children: FieldsV1[]): FieldsV1 {
  const out: Record<string, FieldsV1> = { '.': leaf }
  for (let index = 0; index < elements.length; index++) out[elements[index]!] = children[index]!
  return out
}
