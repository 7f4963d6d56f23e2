import { copy, isBare, isMap, type JsonMap, own, put } from '../../values/json-map.ts'
import { formOf } from './form.ts'
import { mergeOrder } from './merge-order.ts'
import { itemElement } from './path-element.ts'
import type { ListType, MapType, Type } from './schema.ts'

/** Returns what becomes of a live value that is not changed. */
type Keep = (value: unknown) => unknown
const shared: Keep = (value) => value

/** The live object with the configuration laid over it; shares nothing with either. */
export const merge = (type: Type, live: JsonMap, config: JsonMap): JsonMap => mergeMaps(type.map!, live, config, copy)
/** Does the same as {@link merge}, but shares what did not change with the live object. */
export const mergeSharing = (type: Type, live: JsonMap, config: JsonMap): JsonMap =>
  mergeMaps(type.map!, live, config, shared)

function mergeValues(type: Type, live: unknown, config: unknown, keep: Keep): unknown {
  if (config === undefined) return keep(live)
  if (live === undefined) return copy(config)
  const form = formOf(type, config, live)
  const atomic = form === 'scalar' || (form === 'list' ? type.list!.atomic : type.map!.atomic)
  if (atomic || (isBare(live) && isBare(config))) return copy(config)
  if (form === 'list') {
    return mergeLists(type.list!, Array.isArray(live) ? live : [], Array.isArray(config) ? config : [], keep)
  }
  return mergeMaps(type.map!, isMap(live) ? live : {}, isMap(config) ? config : {}, keep)
}

function mergeMaps(type: MapType, live: JsonMap, config: JsonMap, keep: Keep): JsonMap {
  const out: JsonMap = {}
  for (const key in live) {
    const childType = type.fields.get(key)?.type ?? type.element
    put(out, key, childType ? mergeValues(childType, live[key], own(config, key), keep) : keep(live[key]))
  }
  for (const key in config) if (!Object.hasOwn(live, key)) put(out, key, copy(config[key]))
  return out
}

/** Items by key: known ones merged, new ones taken over, in the order of both as far as they agree. */
function mergeLists(type: ListType, live: unknown[], config: unknown[], keep: Keep): unknown[] {
  const liveElements = live.map((item) => itemElement(type, item))
  const configElements = config.map((item) => itemElement(type, item))
  const mergeTarget = new Map<string, unknown>()
  for (const [index, element] of liveElements.entries()) {
    mergeTarget.set(element, mergeTarget.has(element) ? undefined : live[index]) // duplicates are replaced, not merged
  }
  return mergeOrder(liveElements, configElements).map((step) =>
    step.from === 'live'
      ? keep(live[step.index])
      : mergeValues(type.element, mergeTarget.get(configElements[step.index]!), config[step.index], keep),
  )
}
