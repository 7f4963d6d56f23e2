import { matchesNodeSelection } from '../../shared/api/nodes/node-affinity.ts'
import { untolerated } from '../../shared/api/nodes/taints.ts'
import { fromSelectorObject, type LabelSelector, matchesLabels } from '../../shared/api/selectors/label-selector.ts'
import type { TrimmedPod } from '../informers/trimmed-pod.ts'
import { addTo, type Counts, DomainCounts, domainOf } from './domain-counts.ts'
import type { PodInfo, PresentNode } from './node-info.ts'
import type { Rejection } from './rejection.ts'

const HOSTNAME = 'kubernetes.io/hostname'
const NO_MATCH = "node(s) didn't match pod topology spread constraints"

interface Constraint {
  topologyKey: string
  maxSkew: number
  minDomains: number
  /** Selects no pod if it is undefined. */
  selector: LabelSelector | undefined
  /** Nodes that the pod could not run on do not count. */
  honorsAffinity: boolean
  honorsTaints: boolean
}

/** Selects pods in the namespace of a pod; an empty selector stands for none. */
export type SelectorOf = (pod: TrimmedPod) => LabelSelector

/** The constraints that clusters have by default, for the pods of a service or a workload: they only prefer. */
const systemDefaults = [
  { topologyKey: HOSTNAME, maxSkew: 3 },
  { topologyKey: 'topology.kubernetes.io/zone', maxSkew: 5 },
]

/**
 * Says where a pod may run for its `topologySpreadConstraints`, and where it had better. Upstream:
 * plugins/podtopologyspread.
 */
export class TopologySpread {
  readonly #pod: TrimmedPod
  readonly #nodes: readonly PresentNode[]
  readonly #hard: readonly { constraint: Constraint; counts: DomainCounts }[]
  readonly #soft: readonly Constraint[]
  /** Nodes without a label of a default constraint count as well. */
  readonly #isDefault: boolean
  readonly #fewest = new WeakMap<Counts, number>()

  /** Returns undefined if the pod has no constraints, and none by default. */
  static of({ pod }: PodInfo, nodes: readonly PresentNode[], selectorOf: SelectorOf): TopologySpread | undefined {
    if (pod.spec.topologySpreadConstraints?.length) return new TopologySpread(pod, nodes)
    // With one node there is nothing to prefer.
    const selector = nodes.length > 1 ? selectorOf(pod) : []
    return selector.length > 0 ? new TopologySpread(pod, nodes, selector) : undefined
  }

  private constructor(pod: TrimmedPod, nodes: readonly PresentNode[], defaultSelector?: LabelSelector) {
    this.#pod = pod
    this.#nodes = nodes
    this.#isDefault = defaultSelector !== undefined
    this.#soft = defaultSelector ? defaultConstraints(defaultSelector) : constraintsOf(pod, 'ScheduleAnyway')
    const hard = constraintsOf(pod, 'DoNotSchedule')
    this.#hard = hard.map((constraint) => ({
      constraint,
      counts: new DomainCounts(nodes, (info) =>
        hasKeys(info, hard) && this.#counts(constraint, info) ? this.#matching(constraint, info) : new Map(),
      ),
    }))
  }

  rejection(info: PresentNode): Rejection | undefined {
    for (const { constraint, counts } of this.#hard) {
      const domain = domainOf(info, constraint.topologyKey)
      if (domain === undefined) return { reasons: [`${NO_MATCH} (missing required label)`], resolvable: false }
      const all = counts.with(info)
      const fewest = all.size < constraint.minDomains ? 0 : this.#fewestOf(all)
      const itself = selects(constraint, this.#pod) ? 1 : 0
      if ((all.get(domain) ?? 0) + itself - fewest > constraint.maxSkew)
        return { reasons: [NO_MATCH], resolvable: true }
    }
    return undefined
  }

  /** Returns scores from 0 to 100 for nodes that passed the filters; undefined without constraints that only prefer. */
  scores(candidates: readonly PresentNode[]): number[] | undefined {
    if (this.#soft.length === 0) return undefined
    const isEligible = (info: PresentNode): boolean => this.#isDefault || hasKeys(info, this.#soft)
    const eligible = candidates.filter(isEligible)
    const parts = this.#soft.map((constraint) => this.#scoreOf(constraint, eligible))
    const raw = candidates.map((info) =>
      isEligible(info) ? Math.round(parts.reduce((sum, part) => sum + part(info), 0)) : undefined,
    )
    const known = raw.filter((value) => value !== undefined)
    const [lowest, highest] = [Math.min(...known), Math.max(...known)]
    return raw.map((value) => {
      if (value === undefined) return 0
      return highest === 0 ? 100 : Math.trunc((100 * (highest + lowest - value)) / highest)
    })
  }

  /** Counts matching pods; differences in domains that are many weigh more, so that others do not hide them. */
  #scoreOf(constraint: Constraint, eligible: readonly PresentNode[]): (info: PresentNode) => number {
    const { topologyKey, maxSkew } = constraint
    const isByNode = topologyKey === HOSTNAME
    const domains = new Set(eligible.map((info) => domainOf(info, topologyKey)))
    const counts: Counts = new Map()
    // Nodes that all lack the label are one domain, which counts for none of them.
    for (const info of isByNode || (domains.size === 1 && domains.has(undefined)) ? [] : this.#nodes) {
      if (!domains.has(domainOf(info, topologyKey)) || !this.#counts(constraint, info)) continue
      if (!this.#isDefault && !hasKeys(info, this.#soft)) continue
      for (const [domain, count] of this.#matching(constraint, info)) addTo(counts, domain, count)
    }
    const weight = Math.log((isByNode ? eligible.length : domains.size) + 2)
    return (info) => {
      const domain = domainOf(info, topologyKey)
      if (domain === undefined) return 0
      const found = isByNode ? this.#matching(constraint, info) : counts
      return (found.get(domain) ?? 0) * weight + maxSkew - 1
    }
  }

  #fewestOf(counts: Counts): number {
    const known = this.#fewest.get(counts)
    if (known !== undefined) return known
    let fewest = 2 ** 31 - 1
    for (const count of counts.values()) fewest = Math.min(fewest, count)
    this.#fewest.set(counts, fewest)
    return fewest
  }

  /** Returns whether the pods of a node count at all. */
  #counts({ honorsAffinity, honorsTaints }: Constraint, { node }: PresentNode): boolean {
    const { spec } = this.#pod
    if (honorsAffinity && !matchesNodeSelection(spec, node)) return false
    const taints = honorsTaints ? (node.spec?.taints ?? []) : []
    return untolerated(taints, spec.tolerations ?? [], ['NoSchedule', 'NoExecute']).length === 0
  }

  /** Counts the pods of a node in its domain, which is there even without any. An empty selector counts none. */
  #matching(constraint: Constraint, info: PresentNode): Counts {
    const counts: Counts = new Map()
    let count = 0
    for (const { pod } of constraint.selector?.length === 0 ? [] : info.pods.values()) {
      const { deletionTimestamp, namespace } = pod.metadata
      if (!deletionTimestamp && namespace === this.#pod.metadata.namespace && selects(constraint, pod)) count += 1
    }
    addTo(counts, domainOf(info, constraint.topologyKey), count)
    return counts
  }
}

const constraintsOf = ({ spec }: TrimmedPod, action: string): Constraint[] =>
  (spec.topologySpreadConstraints ?? [])
    .filter(({ whenUnsatisfiable }) => whenUnsatisfiable === action)
    .map(({ topologyKey, maxSkew, minDomains = 1, labelSelector, nodeAffinityPolicy, nodeTaintsPolicy }) => ({
      topologyKey,
      maxSkew,
      minDomains,
      selector: fromSelectorObject(labelSelector),
      honorsAffinity: nodeAffinityPolicy !== 'Ignore',
      honorsTaints: nodeTaintsPolicy === 'Honor',
    }))

const defaultConstraints = (selector: LabelSelector): Constraint[] =>
  systemDefaults.map((one) => ({ ...one, minDomains: 1, selector, honorsAffinity: true, honorsTaints: false }))

const hasKeys = (info: PresentNode, constraints: readonly Constraint[]): boolean =>
  constraints.every(({ topologyKey }) => domainOf(info, topologyKey) !== undefined)

const selects = ({ selector }: Constraint, { metadata }: TrimmedPod): boolean =>
  selector !== undefined && matchesLabels(selector, metadata.labels)
