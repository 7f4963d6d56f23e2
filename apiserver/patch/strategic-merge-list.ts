import { plainError } from '../../shared/api/status/status-errors.ts'
import { isMap, type JsonMap } from '../values/json-map.ts'
import { listOfLists, noMergeKey, unknownDirective } from './strategic-merge-error.ts'
import { arrange, identity } from './strategic-merge-order.ts'
import type { PatchField, PatchType } from './strategic-merge-type.ts'
import { printType, printValue } from './structured-merge/go-print.ts'

type MergeMaps = (original: JsonMap, patch: JsonMap, type: PatchType) => JsonMap

/** A list and its patch, by the strategy of the field; `mergeMaps` merges items that both have. */
export function mergeList(original: unknown[], patch: unknown[], field: PatchField, mergeMaps: MergeMaps): unknown[] {
  if (!field.strategies.includes('merge')) return patch
  if (original.length === 0 && patch.length === 0) return original
  if (!ofMaps(original, patch)) return arrange([...new Set([...original, ...patch])], patch, original, '')
  const { mergeKey, type } = field
  if (mergeKey === '') throw plainError(`cannot merge lists without merge key for ${type.name}`)
  const { live, items } = applyDirectives(original as JsonMap[], patch as JsonMap[], mergeKey)
  const merged: JsonMap[] = [...live]
  const places = new Map<unknown, number>()
  for (const [index, other] of live.entries()) if (!places.has(other[mergeKey])) places.set(other[mergeKey], index)
  for (const item of items) {
    const key = identity(item, mergeKey)
    const index = places.get(key)
    if (index === undefined) places.set(key, merged.push(item) - 1)
    else merged[index] = mergeMaps(merged[index]!, item, type)
  }
  return arrange(merged, items, live, mergeKey)
}

/** Items with `$patch`: deletions leave the live list, a replacement leaves nothing of it. */
function applyDirectives(original: JsonMap[], patch: JsonMap[], mergeKey: string) {
  const deleted = new Set<unknown>()
  let replace = false
  const items: JsonMap[] = []
  for (const item of patch) {
    if (!Object.hasOwn(item, '$patch')) {
      items.push(item)
    } else if (item.$patch === 'delete') {
      if (!Object.hasOwn(item, mergeKey)) throw noMergeKey(item, mergeKey)
      deleted.add(item[mergeKey])
    } else if (item.$patch === 'replace') {
      replace = true
    } else if (item.$patch === 'merge') {
      throw plainError('merging lists cannot yet be specified in the patch')
    } else {
      throw unknownDirective(item.$patch, item)
    }
  }
  if (replace) return { live: items, items: [] }
  return { live: deleted.size > 0 ? original.filter((other) => !deleted.has(other[mergeKey])) : original, items }
}

/**
 * Returns whether the items are maps. Throws if there are no items, if the first one is a list, or if they differ in
 * type.
 */
export function ofMaps(original: unknown[], patch: unknown[]): boolean {
  const all = [...original, ...patch]
  if (all.length === 0) throw plainError('no elements in any of the given slices')
  if (Array.isArray(all[0])) throw listOfLists()
  if (new Set(all.map(printType)).size > 1) {
    throw plainError(`list element types are not identical: ${printValue([original, patch])}`)
  }
  return isMap(all[0])
}
