import { isMap } from '../values/json-map.ts'
import { noMergeKey } from './strategic-merge-error.ts'

/**
 * Returns the value that tells an item from others: its value of the merge key, or the item itself if it has no merge
 * key or is no map. Throws for a map that lacks the merge key.
 */
export function identity(item: unknown, mergeKey: string): unknown {
  if (mergeKey === '' || !isMap(item)) return item
  if (!Object.hasOwn(item, mergeKey)) throw noMergeKey(item, mergeKey)
  return item[mergeKey]
}

/**
 * Puts a merged list in order: items named by `order` in that order; the others keep their place of the live list
 * before those they preceded there, and new ones come first.
 */
export function arrange(merged: unknown[], order: unknown[], live: unknown[], mergeKey: string): unknown[] {
  const orderIndex = positions(order, mergeKey)
  const liveIndex = positions(live, mergeKey)
  const of = (index: Map<unknown, number>, item: unknown) => index.get(identity(item, mergeKey))
  const byIndex = (index: Map<unknown, number>) => (a: unknown, b: unknown) => (of(index, a) ?? 0) - (of(index, b) ?? 0)
  const named = merged.filter((item) => of(orderIndex, item) !== undefined).sort(byIndex(orderIndex))
  const others = merged.filter((item) => of(orderIndex, item) === undefined).sort(byIndex(liveIndex))
  const out: unknown[] = []
  let next = 0
  for (const item of named) {
    const place = of(liveIndex, item)
    while (next < others.length && place !== undefined && (of(liveIndex, others[next]) ?? place) < place) {
      out.push(others[next++])
    }
    out.push(item)
  }
  return [...out, ...others.slice(next)]
}

/** First place of each item. */
function positions(items: unknown[], mergeKey: string): Map<unknown, number> {
  const out = new Map<unknown, number>()
  for (const [index, item] of items.entries()) {
    const key = identity(item, mergeKey)
    if (!out.has(key)) out.set(key, index)
  }
  return out
}
