import type { TrimmedPod } from '../informers/trimmed-pod.ts'
import { placementRules, rejectionOf } from './filters.ts'
import { type PodInfo, type PresentNode, priorityOf } from './node-info.ts'
import type { NodeSearch } from './node-search.ts'
import type { NamespaceLabels } from './pod-affinity.ts'
import { type Candidate, cheapest, findCandidates, type PreemptionContext } from './preemption.ts'
import type { Rejection } from './rejection.ts'
import { pickBest } from './scores.ts'
import type { SelectorOf } from './topology-spread.ts'

/** Says where a pod runs, or why it cannot run for now and what would make room. */
export type Decision = { nodeName: string } | Refusal

export interface Refusal {
  /** Says why, in upstream's words. */
  message: string
  /** Name of the node that the pod waits for; empty if there is none, undefined if the nomination stays as it is. */
  nominated?: string
  /** Evictions that make room on the nominated node. */
  preemption?: Candidate
}

export interface DecisionContext extends Omit<PreemptionContext, 'rules'> {
  search: NodeSearch
  /** Describes a problem that rules out all nodes. */
  problem?: string
  /** Returns whether the pod is terminating because the scheduler deleted it. */
  isPreempted(pod: TrimmedPod): boolean
  namespaceLabels: NamespaceLabels
  /** Selects the pods that are spread with one that has no constraints of its own. */
  defaultSelector: SelectorOf
}

type RefusalContext = DecisionContext & PreemptionContext

/** Chooses a node for a pod, or explains why there is none. Upstream: pkg/scheduler/schedule_one.go. */
export function decide(pod: PodInfo, nodes: readonly PresentNode[], context: DecisionContext): Decision {
  const { problem, nominations, random, search } = context
  if (nodes.length === 0) return { message: 'no nodes available to schedule pods', nominated: '' }
  if (problem !== undefined) return refuse(pod, hopeless(nodes), { problem, context: { ...context, rules: {} } })
  const rules = placementRules(pod, nodes, context)
  // Nominated pods take room, but may not come: nothing is allowed on account of them.
  const check = (info: PresentNode): Rejection | undefined => {
    const before = nominations.before(pod.pod, info.node.metadata.name)
    const crowded = before.length > 0 ? rejectionOf(pod, info.with(before) as PresentNode, rules) : undefined
    return crowded ?? rejectionOf(pod, info, rules)
  }
  const nominated = nominations.nodeOf(pod.pod)
  const awaited = nominated && nodes.find(({ node }) => node.metadata.name === nominated)
  if (awaited && !check(awaited)) return { nodeName: nominated }
  const { fitting, rejected } = search.find(nodes, check)
  const best = pickBest(pod, fitting, { random, rules, nodeCount: nodes.length })
  return best ? { nodeName: best.node.metadata.name ?? '' } : refuse(pod, rejected, { context: { ...context, rules } })
}

/** Upstream: what a PreFilter plugin says; no node is asked, and none would do. */
const hopeless = (nodes: readonly PresentNode[]): Map<PresentNode, Rejection> =>
  new Map(nodes.map((node) => [node, { reasons: [], resolvable: false }]))

function refuse(
  pod: PodInfo,
  rejected: Map<PresentNode, Rejection>,
  { problem, context }: { problem?: string; context: RefusalContext },
): Refusal {
  const total = rejected.size
  const reasons = [...rejected.values()].flatMap(({ reasons }) => reasons)
  const why = problem === undefined ? tally(total, reasons) : `0/${total} nodes are available: ${problem}.`
  const { words, ...verdict } = preempt(pod, rejected, context)
  return { message: words === undefined ? why : `${why} no new claims to deallocate, preemption: ${words}`, ...verdict }
}

/** `words`: why nothing is preempted. */
function preempt(
  pod: PodInfo,
  rejected: Map<PresentNode, Rejection>,
  context: RefusalContext,
): Omit<Refusal, 'message'> & { words?: string } {
  const obstacle = ineligible(pod.pod, rejected, context)
  if (obstacle) return { words: obstacle }
  const resolvable = [...rejected].filter(([, { resolvable }]) => resolvable).map(([info]) => info)
  const { candidates, reasons } = findCandidates(pod, resolvable, context)
  const preemption = cheapest(candidates, context.nowMs)
  if (preemption) return { nominated: preemption.nodeName, preemption }
  const others = Array<string>(rejected.size - resolvable.length).fill('Preemption is not helpful for scheduling')
  return { words: tally(rejected.size, [...reasons, ...others]), nominated: '' }
}

/** Upstream: PodEligibleToPreemptOthers in plugins/defaultpreemption. */
function ineligible(
  pod: TrimmedPod,
  rejected: Map<PresentNode, Rejection>,
  { nominations, isPreempted }: DecisionContext,
): string | undefined {
  if (pod.spec.preemptionPolicy === 'Never') return 'not eligible due to preemptionPolicy=Never.'
  const nominated = nominations.nodeOf(pod)
  for (const [{ node, pods }, { resolvable }] of rejected) {
    if (node.metadata.name !== nominated || !resolvable) continue
    const isAwaited = [...pods.values()].some(
      (other) => priorityOf(other.pod) < priorityOf(pod) && isPreempted(other.pod),
    )
    if (isAwaited) return 'not eligible due to a terminating pod on the nominated node.'
  }
  return undefined
}

/** `0/3 nodes are available: 1 Too many pods, 2 node(s) were unschedulable.` */
function tally(total: number, reasons: readonly string[]): string {
  const counts = new Map<string, number>()
  for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1)
  const list = [...counts].map(([reason, count]) => `${count} ${reason}`).sort()
  return `0/${total} nodes are available: ${list.join(', ')}.`
}
