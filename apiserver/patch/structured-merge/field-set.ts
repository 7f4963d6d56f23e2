import { isBare, isEmptyMap, isMap, type JsonMap } from '../../values/json-map.ts'
import { beginCount, countFields } from './field-count.ts'
import { type FieldsV1, isMember, leaf, noFields } from './fields.ts'
import { formOf } from './form.ts'
import { itemElement } from './path-element.ts'
import type { ListType, MapType, Type } from './schema.ts'

/** The fields a configuration speaks about: its leaves, the items of its lists and the entries of its maps. */
export function fieldSet(type: Type, value: JsonMap): FieldsV1 {
  beginCount()
  return ofMap(type.map!, value) ?? noFields
}

function nodeOf(type: Type, value: unknown): FieldsV1 | undefined {
  switch (formOf(type, value)) {
    case 'scalar':
      return leaf
    case 'list':
      if (type.list!.atomic) return leaf
      return Array.isArray(value) ? ofList(type.list!, value) : undefined
    case 'map':
      if (type.map!.atomic) return leaf
      return isMap(value) ? ofMap(type.map!, value) : undefined
  }
}

const asMember = (node: FieldsV1 | undefined): FieldsV1 =>
  node === undefined ? leaf : isMember(node) ? node : { '.': leaf, ...node }

function ofMap(type: MapType, value: JsonMap): FieldsV1 | undefined {
  const out: Record<string, FieldsV1> = {}
  for (const key in value) {
    const field = type.fields.get(key)
    const child = value[key]
    const childType = field?.type ?? type.element
    if (!childType) continue
    countFields(1)
    let node = nodeOf(childType, child)
    if (!field || child === null || (isMap(child) && isEmptyMap(child))) node = asMember(node)
    if (node) out[field?.element ?? `f:${key}`] = node
  }
  return isBare(out) ? undefined : out
}

function ofList(type: ListType, items: unknown[]): FieldsV1 | undefined {
  countFields(items.length)
  const out: Record<string, FieldsV1> = {}
  const seen = new Set<string>()
  for (const item of items) {
    const element = itemElement(type, item)
    out[element] = seen.has(element) ? leaf : asMember(nodeOf(type.element, item))
    seen.add(element)
  }
  return isBare(out) ? undefined : out
}

/** The set with the declared fields on the way to its members as members too. */
export function withNamedFields(type: Type, fields: FieldsV1): FieldsV1 {
  const out: Record<string, FieldsV1> = {}
  for (const element in fields) {
    const node = fields[element]!
    const { childType, named } = below(type, element)
    const deeper = element === '.' || !childType ? node : withNamedFields(childType, node)
    out[element] = named && !isMember(deeper) ? { '.': leaf, ...deeper } : deeper
  }
  return out
}

/** Type of what an element leads to, and whether it is a declared field. */
function below(type: Type, element: string): { childType: Type | undefined; named: boolean } {
  if (!element.startsWith('f:')) return { childType: type.list?.element, named: false }
  const field = type.map?.fields.get(element.slice(2))
  return { childType: field?.type ?? type.map?.element, named: field !== undefined }
}
