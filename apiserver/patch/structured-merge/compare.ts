import { equals, isBare, isMap, type JsonMap, own } from '../../values/json-map.ts'
import { everything } from './everything.ts'
import { beginCount, countFields } from './field-count.ts'
import { type FieldsV1, leaf, noFields } from './fields.ts'
import { formOf } from './form.ts'
import { itemElement } from './path-element.ts'
import type { ListType, MapType, Type } from './schema.ts'

/** Says which fields of an object were added, modified and removed. */
export interface Comparison {
  added: FieldsV1
  modified: FieldsV1
  removed: FieldsV1
}
type Change = keyof Comparison
type Node = { [change in Change]?: Record<string, FieldsV1> | undefined }

/** Returns how two objects of one type differ, field by field. */
export function compare(type: Type, before: JsonMap, after: JsonMap): Comparison {
  const node: Node = {}
  beginCount()
  compareMaps(type.map!, before, after, node)
  return { added: node.added ?? noFields, modified: node.modified ?? noFields, removed: node.removed ?? noFields }
}

/** Returns what changed at and below a value that both sides have. */
function compareValues(type: Type, before: unknown, after: unknown): Node | undefined {
  if (equals(before, after)) return undefined
  const node: Node = {}
  const form = formOf(type, after, before)
  if (form !== formOf(type, before, after)) {
    // A value of unknown shape took another form: what was below is gone, what is below is new.
    if (!isBare(before) && typeof before === 'object') assign(node, 'removed', childrenOf(everything(type, before)))
    if (!isBare(after) && typeof after === 'object') assign(node, 'added', childrenOf(everything(type, after)))
    assign(node, 'modified', { '.': leaf })
    return node
  }
  const atomic = form === 'scalar' || (form === 'list' ? type.list!.atomic : type.map!.atomic)
  if (atomic || (isBare(before) && isBare(after))) {
    return { modified: { '.': leaf } }
  }
  if (form === 'list') {
    compareLists(type.list!, Array.isArray(before) ? before : [], Array.isArray(after) ? after : [], node)
  } else {
    compareMaps(type.map!, isMap(before) ? before : null, isMap(after) ? after : null, node)
  }
  return node
}

/** Null has no fields, not even those of a zero value. */
function compareMaps(type: MapType, before: JsonMap | null, after: JsonMap | null, node: Node): void {
  for (const key in after) {
    const field = type.fields.get(key)
    const childType = field?.type ?? type.element
    if (!childType) continue
    const had = before ? (own(before, key) ?? (Object.hasOwn(before, key) ? null : field?.zero)) : undefined
    compareChild(node, field?.element ?? `f:${key}`, childType, had, after[key])
  }
  for (const key in before) {
    if (after && Object.hasOwn(after, key)) continue
    const field = type.fields.get(key)
    const childType = field?.type ?? type.element
    const has = after ? field?.zero : undefined
    if (childType) compareChild(node, field?.element ?? `f:${key}`, childType, before[key], has)
  }
}

function compareChild(node: Node, element: string, type: Type, before: unknown, after: unknown): void {
  if (before === undefined) {
    if (after !== undefined) set(node, 'added', element, everything(type, after))
  } else if (after === undefined) {
    set(node, 'removed', element, everything(type, before))
  } else {
    const below = compareValues(type, before, after)
    if (!below) return
    if (below.added) set(node, 'added', element, below.added)
    if (below.modified) set(node, 'modified', element, onlyItself(below.modified) ? leaf : below.modified)
    if (below.removed) set(node, 'removed', element, below.removed)
  }
}

function compareLists(type: ListType, before: unknown[], after: unknown[], node: Node): void {
  const had = itemsByElement(type, before)
  const has = itemsByElement(type, after)
  for (const [element, items] of has) compareItems(type, element, had.get(element) ?? [], items, node)
  for (const [element, items] of had) if (!has.has(element)) compareItems(type, element, items, [], node)
}

/** Items with one key: normally one on each side; duplicates count as one atomic value. */
function compareItems(type: ListType, element: string, before: unknown[], after: unknown[], node: Node): void {
  if (before.length <= 1 && after.length <= 1) {
    compareChild(node, element, type.element, before[0], after[0])
  } else if (before.length >= 2 && after.length >= 2) {
    if (!equals(before, after)) set(node, 'modified', element, leaf)
  } else if (before.length >= 2) {
    if (after.length > 0) set(node, 'added', element, everything(type.element, after[0]))
    set(node, 'removed', element, leaf)
  } else {
    if (before.length > 0) set(node, 'removed', element, everything(type.element, before[0]))
    set(node, 'added', element, leaf)
  }
}

function itemsByElement(type: ListType, items: unknown[]): Map<string, unknown[]> {
  const out = new Map<string, unknown[]>()
  for (const item of items) {
    const element = itemElement(type, item)
    const same = out.get(element)
    if (same) same.push(item)
    else out.set(element, [item])
  }
  return out
}

function set(node: Node, change: Change, element: string, below: FieldsV1): void {
  countFields(1)
  const fields = node[change]
  if (fields) fields[element] = below
  else node[change] = { [element]: below }
}
function assign(node: Node, change: Change, fields: Record<string, FieldsV1>): void {
  if (!isBare(fields)) node[change] = fields
}
function childrenOf(fields: FieldsV1): Record<string, FieldsV1> {
  const { '.': _, ...rest } = fields
  return rest
}
function onlyItself(fields: FieldsV1): boolean {
  for (const element in fields) if (element !== '.') return false
  return true
}
