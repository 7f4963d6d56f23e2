import type { PodSpec } from '../../../shared/api/types.ts'
import { frozenWith, knownJson } from '../../values/recurring.ts'

/** Beyond this number, all are forgotten: they are the specs of some templates on some hundred nodes. */
const maxBound = 1024
let bound = new WeakMap<PodSpec, Map<string, PodSpec>>()
let count = 0

/**
 * Returns the spec of a pod that is bound to a node. Pods of one template share a frozen spec, and share what is
 * returned for it: it is frozen, too, and its JSON is known.
 */
export function boundSpec(spec: PodSpec, nodeName: string): PodSpec {
  if (knownJson(spec) === undefined) return { ...spec, nodeName }
  const known = bound.get(spec)?.get(nodeName)
  if (known) return known
  if (count === maxBound) {
    bound = new WeakMap()
    count = 0
  }
  count++
  const made = frozenWith(spec, { nodeName })
  bound.set(spec, (bound.get(spec) ?? new Map<string, PodSpec>()).set(nodeName, made))
  return made
}
