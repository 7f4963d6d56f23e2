import { isBare, isMap, type JsonMap, put } from '../../values/json-map.ts'
import { type FieldsV1, isEmpty, isMember } from './fields.ts'
import { itemElement } from './path-element.ts'
import type { Type } from './schema.ts'

/**
 * Returns the object without the fields of the set. The result shares what is unchanged; a map or list that loses all
 * its content becomes null.
 */
export const remove = (type: Type, object: JsonMap, fields: FieldsV1): JsonMap =>
  isEmpty(fields) ? object : ((removeFrom(type, object, fields) ?? {}) as JsonMap)

function removeFrom(type: Type, value: unknown, fields: FieldsV1): unknown {
  if (Array.isArray(value)) {
    const list = type.list
    if (!list || list.atomic) return null
    const items = value.flatMap((item) => {
      const node = fields[itemElement(list, item)]
      if (!node) return [item]
      return isMember(node) ? [] : [removeFrom(list.element, item, node)]
    })
    return items.length > 0 ? items : null
  }
  if (!isMap(value)) return value
  const map = type.map
  if (!map || map.atomic) return null
  const out: JsonMap = {}
  for (const key in value) {
    const field = map.fields.get(key)
    const node = fields[field?.element ?? `f:${key}`]
    if (!node) put(out, key, value[key])
    else if (!isMember(node)) put(out, key, removeFrom(field?.type ?? map.element ?? {}, value[key], node))
  }
  return isBare(out) ? null : out
}
