import { preferredNodeWeight } from '../../shared/api/nodes/node-affinity.ts'
import { untolerated } from '../../shared/api/nodes/taints.ts'
import type { TrimmedNode } from '../informers/trimmed-node.ts'
import type { PlacementRules } from './filters.ts'
import type { NodeInfo, PodInfo } from './node-info.ts'

type Candidate = NodeInfo & { node: TrimmedNode }

/** One opinion about nodes: the higher, the better. Scaled to 0…100 over the candidates, then weighted. */
interface Score {
  name: string
  weight: number
  of(pod: PodInfo, node: Candidate): number
}

const scores: readonly Score[] = [
  {
    name: 'TaintToleration',
    weight: 3,
    of: ({ pod }, { node }) =>
      -untolerated(node.spec?.taints ?? [], pod.spec.tolerations ?? [], ['PreferNoSchedule']).length,
  },
  { name: 'NodeAffinity', weight: 2, of: ({ pod }, { node }) => preferredNodeWeight(pod.spec, node) },
  {
    name: 'NodeResourcesFit',
    weight: 1,
    of: (pod, node) => (freeShare(pod, node, 'cpu') + freeShare(pod, node, 'memory')) / 2,
  },
]

/** The weight of topology spread, and of pod affinity. */
const RULES_WEIGHT = 2

/** The part of a resource that would still be free with the pod on the node. */
function freeShare({ weighed }: PodInfo, node: Candidate, name: string): number {
  const capacity = node.allocatable.get(name) ?? 0
  const used = (node.weighed.get(name) ?? 0) + (weighed.get(name) ?? 0)
  return capacity === 0 ? 0 : Math.max(0, capacity - used) / capacity
}

/** The best of the nodes that passed the filters; chance decides among equals, as upstream does. */
export function pickBest(
  pod: PodInfo,
  candidates: readonly Candidate[],
  { random, rules }: { random: () => number; rules: PlacementRules },
): Candidate | undefined {
  if (candidates.length <= 1) return candidates[0]
  const totals = candidates.map(() => 0)
  for (const { weight, of } of scores) {
    const raw = candidates.map((candidate) => of(pod, candidate))
    const lowest = Math.min(...raw)
    const span = Math.max(...raw) - lowest
    if (span === 0) continue
    for (const [i, value] of raw.entries()) totals[i]! += (weight * 100 * (value - lowest)) / span
  }
  for (const rule of [rules.spread, rules.affinity])
    for (const [i, value] of rule?.scores(candidates)?.entries() ?? []) totals[i]! += RULES_WEIGHT * value
  const best = Math.max(...totals)
  const equals = candidates.filter((_, i) => totals[i] === best)
  return equals[Math.floor(random() * equals.length)]
}
