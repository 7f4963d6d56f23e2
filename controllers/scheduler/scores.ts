import { preferredNodeWeight } from '../../shared/api/nodes/node-affinity.ts'
import { untolerated } from '../../shared/api/nodes/taints.ts'
import type { TrimmedNode } from '../informers/trimmed-node.ts'
import type { PlacementRules } from './filters.ts'
import { ImageLocality } from './image-locality.ts'
import type { NodeInfo, PodInfo } from './node-info.ts'
import { balance, isBestEffort, leastAllocated } from './resource-scores.ts'

type Candidate = NodeInfo & { node: TrimmedNode }

/** Scores nodes by one rule: the higher, the better. Scaled to 0…100 over the candidates where `scaled` says how. */
interface Score {
  name: string
  weight: number
  of(pod: PodInfo, node: Candidate): number
  scaled?: (values: number[]) => number[]
  /** The pod has no opinion of this kind. */
  isSkipped?(pod: PodInfo): boolean
}

const scores: readonly Score[] = [
  {
    name: 'TaintToleration',
    weight: 3,
    of: ({ pod }, { node }) =>
      untolerated(node.spec?.taints ?? [], pod.spec.tolerations ?? [], ['PreferNoSchedule']).length,
    scaled: (values) => toHighest(values).map((value) => 100 - value),
  },
  {
    name: 'NodeAffinity',
    weight: 2,
    of: ({ pod }, { node }) => preferredNodeWeight(pod.spec, node),
    scaled: (values) => toHighest(values),
  },
  { name: 'NodeResourcesFit', weight: 1, of: leastAllocated },
  { name: 'NodeResourcesBalancedAllocation', weight: 1, of: balance, isSkipped: isBestEffort },
]

/** The weight of topology spread, and of pod affinity. */
const RULES_WEIGHT = 2
const IMAGE_WEIGHT = 1

/** Upstream: DefaultNormalizeScore in plugins/helper. */
function toHighest(values: readonly number[]): number[] {
  const highest = Math.max(...values)
  return values.map((value) => (highest === 0 ? 0 : Math.trunc((100 * value) / highest)))
}

/** The best of the nodes that passed the filters; chance decides among equals, as upstream does. */
export function pickBest(
  pod: PodInfo,
  candidates: readonly Candidate[],
  { random, rules, nodeCount }: { random: () => number; rules: PlacementRules; nodeCount: number },
): Candidate | undefined {
  if (candidates.length <= 1) return candidates[0]
  const totals = candidates.map(() => 0)
  for (const { weight, of, scaled, isSkipped } of scores) {
    if (isSkipped?.(pod)) continue
    const raw = candidates.map((candidate) => of(pod, candidate))
    for (const [i, value] of (scaled?.(raw) ?? raw).entries()) totals[i]! += weight * value
  }
  for (const rule of [rules.spread, rules.affinity])
    for (const [i, value] of rule?.scores(candidates)?.entries() ?? []) totals[i]! += RULES_WEIGHT * value
  if (candidates.some(({ images }) => images)) {
    const locality = new ImageLocality(pod, nodeCount)
    for (const [i, candidate] of candidates.entries()) totals[i]! += IMAGE_WEIGHT * locality.score(candidate)
  }
  const best = Math.max(...totals)
  const equals = candidates.filter((_, i) => totals[i] === best)
  return equals[Math.floor(random() * equals.length)]
}
