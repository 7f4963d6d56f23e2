import type { Amounts } from '../../shared/api/quantities/amounts.ts'
import type { Pod } from '../../shared/api/types.ts'
import { isCritical } from '../pod/critical-pod.ts'
import type { PodLoad } from './node-load.ts'

/** The classes of service, the first to go first. */
const CLASSES = ['BestEffort', 'Burstable', 'Guaranteed'] as const

/**
 * The pods to be ended so that `lacking` gets free for a critical pod: as few of the better classes as possible, and of
 * each class those that fit best. Undefined: not even all together would do. Upstream: pkg/kubelet/preemption.
 */
export function victims(pod: Pod, running: Iterable<PodLoad>, lacking: Amounts): PodLoad[] | undefined {
  const candidates = [...running].filter((load) => mayBePreempted(pod, load.pod))
  const [bestEffort = [], burstable = [], guaranteed = []] = CLASSES.map((qosClass) =>
    candidates.filter((load) => (load.pod.status?.qosClass ?? 'BestEffort') === qosClass),
  )
  if (without(lacking, candidates).size > 0) return undefined
  const ofGuaranteed = fewest(guaranteed, without(lacking, [...bestEffort, ...burstable]))
  const ofBurstable = fewest(burstable, without(lacking, [...bestEffort, ...ofGuaranteed]))
  const ofBestEffort = fewest(bestEffort, without(lacking, [...ofBurstable, ...ofGuaranteed]))
  return [...ofBestEffort, ...ofBurstable, ...ofGuaranteed]
}

const mayBePreempted = (preemptor: Pod, pod: Pod): boolean =>
  (isCritical(preemptor) && !isCritical(pod)) || (preemptor.spec.priority ?? 0) > (pod.spec.priority ?? 0)

/** Returns what would still be lacking without these pods. */
function without(lacking: Amounts, loads: PodLoad[]): Amounts {
  const rest: Amounts = new Map()
  for (const [name, amount] of lacking) {
    const left = loads.reduce((sum, load) => sum - freed(load, name), amount)
    if (left > 0) rest.set(name, left)
  }
  return rest
}
const freed = ({ requests }: PodLoad, name: string): number => (name === 'pods' ? 1000 : (requests.get(name) ?? 0))

/** Chooses pods one after another: each time the pod that frees most of what is lacking; of two alike the smaller. */
function fewest(loads: PodLoad[], lacking: Amounts): PodLoad[] {
  const chosen: PodLoad[] = []
  const left = new Set(loads)
  for (let needed = lacking; needed.size > 0 && left.size > 0; needed = without(needed, chosen.slice(-1))) {
    const [nearest] = [...left].sort((a, b) => distance(a, needed) - distance(b, needed) || size(a) - size(b))
    if (!nearest) break
    left.delete(nearest)
    chosen.push(nearest)
  }
  return chosen
}

/** 0 for a pod that frees all that is needed, else the sum of the squares of the missing parts. */
function distance(load: PodLoad, needed: Amounts): number {
  let sum = 0
  for (const [name, amount] of needed) sum += Math.max(0, (amount - freed(load, name)) / amount) ** 2
  return sum
}
const size = ({ requests }: PodLoad): number => (requests.get('memory') ?? 0) + (requests.get('cpu') ?? 0)
