import { addQuantities, compareQuantities } from '../../../../shared/api/quantities/quantity.ts'
import type { PodSpec } from '../../../../shared/api/types.ts'

type Totals = Map<string, string>

/** Returns what the containers of a pod need together, or the peak of its initialization if that is more. */
export function containerTotals(spec: PodSpec, list: 'requests' | 'limits'): Totals {
  const total: Totals = new Map()
  for (const { resources } of spec.containers ?? []) add(total, resources?.[list])
  const sidecars: Totals = new Map()
  const peak: Totals = new Map()
  for (const { resources, restartPolicy } of spec.initContainers ?? []) {
    if (restartPolicy === 'Always') {
      add(total, resources?.[list])
      raise(peak, add(sidecars, resources?.[list]))
    } else raise(peak, add(new Map(sidecars), resources?.[list]))
  }
  return raise(total, peak)
}

function add(to: Totals, amounts: Record<string, string> = {}): Totals {
  for (const [name, amount] of Object.entries(amounts)) {
    const before = to.get(name)
    to.set(name, before === undefined ? amount : addQuantities(before, amount))
  }
  return to
}

function raise(to: Totals, amounts: Totals): Totals {
  for (const [name, amount] of amounts) {
    const before = to.get(name)
    if (before === undefined || compareQuantities(amount, before) > 0) to.set(name, amount)
  }
  return to
}
