/**
 * Strategic merge patch: a merge patch that knows which lists are keyed, with directives for what a patch cannot say
 * by example. Pure: neither the object nor the patch is changed.
 */

import { plainError } from '../../shared/api/status/status-errors.ts'
import { isMap, type JsonMap, put } from '../values/json-map.ts'
import { badArgument, badFormat, unknownDirective } from './strategic-merge-error.ts'
import { mergeList, ofMaps } from './strategic-merge-list.ts'
import { arrange, identity } from './strategic-merge-order.ts'
import { type PatchType, patchType } from './strategic-merge-type.ts'
import { printValue } from './structured-merge/go-print.ts'

const marker = '$patch'
const retainKeys = '$retainKeys'
const setElementOrder = '$setElementOrder/'
const deleteFromPrimitiveList = '$deleteFromPrimitiveList/'

/** The object, of the type with the OpenAPI name `schema`, with the patch applied; not yet decoded nor validated. */
export const strategicMerge = (object: JsonMap, patch: JsonMap, schema: string): JsonMap =>
  mergeMaps(object, patch, patchType(schema))

function mergeMaps(original: JsonMap, patch: JsonMap, type: PatchType): JsonMap {
  if (Object.hasOwn(patch, marker)) return applyMarker(patch)
  const out = retain(original, patch)
  const ordered = mergeOrderedLists(out, patch, type)
  for (const key of Object.keys(patch)) {
    if (key === retainKeys || key.startsWith(setElementOrder) || ordered.has(key)) continue
    if (!key.startsWith(deleteFromPrimitiveList)) mergeValue(out, key, patch[key], type)
  }
  for (const key of Object.keys(patch)) {
    if (key.startsWith(deleteFromPrimitiveList))
      deleteScalars(out, key.slice(deleteFromPrimitiveList.length), patch[key])
  }
  return out
}

function applyMarker(patch: JsonMap): JsonMap {
  const { [marker]: directive, ...fields } = patch
  if (directive === 'replace') return fields
  if (directive === 'delete') return {}
  throw unknownDirective(directive, patch)
}

/** `$retainKeys`: all other keys of the map go; the patch may set no key beside them. */
function retain(original: JsonMap, patch: JsonMap): JsonMap {
  if (!Object.hasOwn(patch, retainKeys)) return { ...original }
  const keys = patch[retainKeys]
  if (!Array.isArray(keys)) throw badFormat('retainKeys')
  const kept = new Set(keys)
  for (const [key, value] of Object.entries(patch)) {
    if (value === null || key.startsWith('$') || kept.has(key)) continue
    throw badFormat('retainKeys')
  }
  return Object.fromEntries(Object.entries(original).filter(([key]) => kept.has(key)))
}

function mergeValue(out: JsonMap, key: string, value: unknown, type: PatchType): void {
  if (value === null) {
    delete out[key]
    return
  }
  const original = Object.hasOwn(out, key) ? out[key] : undefined
  if (isMap(original) && isMap(value)) {
    const field = type.field(key)
    put(out, key, field.strategies.includes('replace') ? value : mergeMaps(original, value, field.type))
  } else if (Array.isArray(original) && Array.isArray(value)) {
    put(out, key, mergeList(original, value, type.field(key), mergeMaps))
  } else {
    const plain = withoutDirectives(value)
    if (plain === undefined) delete out[key]
    else put(out, key, plain)
  }
}

/** A value that meets nothing of its kind: without nulls, and without maps that only say what to delete. */
function withoutDirectives(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDirectives).filter((item) => item !== undefined)
  if (!isMap(value)) return value
  if (Object.hasOwn(value, marker)) return undefined
  const out: JsonMap = {}
  for (const key of Object.keys(value)) {
    const plain = value[key] === null ? undefined : withoutDirectives(value[key])
    if (plain !== undefined) put(out, key, plain)
  }
  return out
}

/** `$deleteFromPrimitiveList/field`: takes scalars out of a list, whatever its strategy. */
function deleteScalars(out: JsonMap, key: string, scalars: unknown): void {
  const list = out[key]
  if (!Array.isArray(list) || !Array.isArray(scalars)) return
  const gone = new Set(scalars)
  out[key] = list.filter((item) => !gone.has(item))
}

/** `$setElementOrder/field`: merges the list of that field, and puts it in the order given. Returns the fields done. */
function mergeOrderedLists(out: JsonMap, patch: JsonMap, type: PatchType): Set<string> {
  const done = new Set<string>()
  for (const directive of Object.keys(patch)) {
    if (!directive.startsWith(setElementOrder)) continue
    const key = directive.slice(setElementOrder.length)
    const order = list(patch[directive])
    const live = list(Object.hasOwn(out, key) ? out[key] : undefined)
    const items = list(Object.hasOwn(patch, key) ? patch[key] : undefined)
    const field = type.field(key)
    if (order === undefined) throw badArgument('[]interface {}', patch[directive])
    if (field.mergeKey) ofMapsInOrder(order, (items ?? []).length > 0)
    checkOrder(items ?? [], order, field.mergeKey)
    if (!live && !items) continue
    ofMaps(live ?? [], items ?? [])
    const merged = !items
      ? live!
      : !live
        ? (withoutDirectives(items) as unknown[])
        : mergeList(live, items, field, mergeMaps)
    out[key] = arrange(merged, order, live ?? [], field.mergeKey)
    done.add(key)
  }
  return done
}

/** The order of a list that is merged by a key has maps with the key. */
function ofMapsInOrder(order: readonly unknown[], hasItems: boolean): void {
  const odd = order.findIndex((wanted) => !isMap(wanted))
  if (odd === -1) return
  throw hasItems ? badArgument('map[string]interface {}', order[odd]) : plainError(`value for key ${odd} is not a map`)
}

function list(value: unknown): unknown[] | undefined {
  if (value === undefined || Array.isArray(value)) return value
  throw badArgument('[]interface {}', value)
}

/** The patch's items must come in the order that it asks for. */
function checkOrder(items: unknown[], order: unknown[], mergeKey: string): void {
  if (items.length === 0 || order.length === 0) return
  const kept = items.filter((item) => !isMap(item) || !Object.hasOwn(item, marker))
  let next = 0
  for (const wanted of order) {
    if (next < kept.length && identity(kept[next], mergeKey) === identity(wanted, mergeKey)) next++
  }
  if (next < kept.length) {
    throw plainError(
      `The order in patch list:\n${printValue(items)}\n doesn't match $setElementOrder list:\n${printValue(order)}\n`,
    )
  }
}
