import type { Pod, PodSpec } from '../types.ts'
import { addQuantities, compareQuantities, formatQuantity, parseQuantity } from './quantity.ts'

/** Maps names of resources (cpu, memory …) to quantities. */
export type ResourceList = Readonly<Record<string, string>>

export function addLists(...lists: (ResourceList | undefined)[]): ResourceList {
  const sum: Record<string, string> = {}
  for (const list of lists) {
    for (const [name, amount] of Object.entries(list ?? {})) {
      const known = sum[name]
      sum[name] = known === undefined ? amount : addQuantities(known, amount)
    }
  }
  return sum
}

/** `a` less `b`, for every name of either. */
export function subtractLists(a: ResourceList, b: ResourceList): ResourceList {
  const negative = Object.entries(b).map(([name, amount]) => {
    const { nano, format } = parseQuantity(amount)
    return [name, formatQuantity({ nano: -nano, format })] as const
  })
  return addLists(a, Object.fromEntries(negative))
}

/** Returns the greater amount of each name. */
function maxLists(a: ResourceList, b: ResourceList): ResourceList {
  const most: Record<string, string> = { ...a }
  for (const [name, amount] of Object.entries(b)) {
    const known = most[name]
    if (known === undefined || compareQuantities(known, amount) < 0) most[name] = amount
  }
  return most
}

/** Returns the entries of the list whose names are among `names`. */
export const maskList = (list: ResourceList, names: Iterable<string>): ResourceList => {
  const wanted = new Set(names)
  return Object.fromEntries(Object.entries(list).filter(([name]) => wanted.has(name)))
}

/**
 * Returns a pod's requests or limits: those of its containers, but values that the pod sets as a whole win. Upstream:
 * component-helpers/resource/helpers.go.
 */
export const podResources = ({ spec }: Pick<Pod, 'spec'>, which: 'requests' | 'limits'): ResourceList => ({
  ...containerResources(spec, which),
  ...(spec.resources?.[which] as ResourceList | undefined),
})

/** Returns what the containers of a pod have together, or the peak of its initialization if that is more. */
export function containerResources(spec: PodSpec, which: 'requests' | 'limits'): ResourceList {
  const running = (spec.containers ?? []).map(({ resources }) => resources?.[which])
  const sidecars: (ResourceList | undefined)[] = []
  let initial: ResourceList = {}
  for (const { resources, restartPolicy } of spec.initContainers ?? []) {
    if (restartPolicy === 'Always') sidecars.push(resources?.[which])
    const moment = restartPolicy === 'Always' ? sidecars : [...sidecars, resources?.[which]]
    initial = maxLists(initial, addLists(...moment))
  }
  return maxLists(addLists(...running, ...sidecars), initial)
}
