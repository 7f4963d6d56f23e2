import { parseTime } from '../../shared/clock/timestamp.ts'
import type { TrimmedPod } from '../informers/trimmed-pod.ts'
import type { Budgets } from './budgets.ts'
import { type PlacementRules, rejectionOf } from './filters.ts'
import { type NodeInfo, type PodInfo, type PresentNode, priorityOf } from './node-info.ts'
import type { Nominations } from './nominations.ts'
import type { Rejection } from './rejection.ts'

/** A node on which a pod fits once the victims are gone. */
export interface Candidate {
  nodeName: string
  /** Lists the victims, the most important first. */
  victims: readonly [PodInfo, ...PodInfo[]]
  /** Counts the victims that a disruption budget protects. */
  violations: number
}

export interface PreemptionContext {
  /** Asked once for each preemption. */
  budgets(): Budgets
  nominations: Nominations
  rules: PlacementRules
  /** From 0 to 1, 1 excluded. */
  random: () => number
  nowMs: number
}

const NO_VICTIMS = 'No preemption victims found for incoming pod'
/** Upstream's defaults: of many nodes a tenth is enough to choose from, and at least so many. */
const MIN_CANDIDATES = 100
const CANDIDATES_SHARE = 0.1

/**
 * The nodes where the end of less important pods would make room, and why the others are none.
 * Upstream: pkg/scheduler/framework/preemption/preemption.go, plugins/defaultpreemption.
 */
export function findCandidates(
  pod: PodInfo,
  nodes: readonly PresentNode[],
  context: PreemptionContext,
): { candidates: Candidate[]; reasons: string[] } {
  const enough = Math.max(MIN_CANDIDATES, Math.floor(nodes.length * CANDIDATES_SHARE))
  const offset = Math.floor(context.random() * nodes.length)
  const budgets = context.budgets()
  const candidates: Candidate[] = []
  const reasons: string[] = []
  for (const node of [...nodes.slice(offset), ...nodes.slice(0, offset)]) {
    const found = victimsOn(pod, node, { ...context, budgets })
    if ('victims' in found) candidates.push(found)
    else reasons.push(...found.reasons)
    if (candidates.length >= enough && candidates.some(({ violations }) => violations === 0)) break
  }
  return { candidates, reasons }
}

/** The fewest of the least important pods of a node that must end for the pod to fit. */
function victimsOn(
  pod: PodInfo,
  node: PresentNode,
  { budgets, nominations, nowMs, rules }: Omit<PreemptionContext, 'budgets'> & { budgets: Budgets },
): Candidate | Rejection {
  const nodeName = node.node.metadata.name ?? ''
  const left = node.with(nominations.before(pod.pod, nodeName)) as PresentNode
  const removed = [...node.pods.values()].filter((other) => priorityOf(other.pod) < priorityOf(pod.pod))
  if (removed.length === 0) return { reasons: [NO_VICTIMS], resolvable: false }
  for (const { pod } of removed) left.removePod(pod.metadata.uid ?? '')
  const rejection = rejectionOf(pod, left, rules)
  if (rejection) return rejection
  const { violating, allowed } = budgets.split(removed.sort(byImportance(nowMs)))
  const isVictim = (info: PodInfo): boolean => !reprieve(pod, left, info, rules)
  const violated = violating.filter(isVictim)
  const [first, ...others] = [...violated, ...allowed.filter(isVictim)].sort(byImportance(nowMs))
  return first
    ? { nodeName, victims: [first, ...others], violations: violated.length }
    : { reasons: [NO_VICTIMS], resolvable: false }
}

/** Puts a pod back where the other one still fits beside it. */
function reprieve(pod: PodInfo, node: NodeInfo, info: PodInfo, rules: PlacementRules): boolean {
  node.addPod(info)
  const fits = rejectionOf(pod, node as PresentNode, rules) === undefined
  if (!fits) node.removePod(info.pod.metadata.uid ?? '')
  return fits
}

const startOf = ({ status }: TrimmedPod, nowMs: number): number =>
  status?.startTime ? parseTime(status.startTime) : nowMs

/** The higher priority first; of one priority the pod that has run longer. */
const byImportance =
  (nowMs: number) =>
  ({ pod: a }: PodInfo, { pod: b }: PodInfo): number =>
    priorityOf(b) - priorityOf(a) || startOf(a, nowMs) - startOf(b, nowMs)

/** The costs of a candidate; the first one that differs decides between two. */
const costs: readonly ((candidate: Candidate, nowMs: number) => number)[] = [
  ({ violations }) => violations,
  ({ victims: [first] }) => priorityOf(first.pod),
  // Counted from the lowest priority there is, so that a further pod always costs something.
  ({ victims }) => victims.reduce((sum, { pod }) => sum + priorityOf(pod) + 2 ** 31, 0),
  ({ victims }) => victims.length,
  ({ victims: [first, ...others] }, nowMs) => {
    const foremost = [first, ...others].filter(({ pod }) => priorityOf(pod) === priorityOf(first.pod))
    return -Math.min(...foremost.map(({ pod }) => startOf(pod, nowMs)))
  },
]

/** The candidate whose victims matter least; the first of equals. */
export function cheapest(candidates: readonly Candidate[], nowMs: number): Candidate | undefined {
  let best = candidates
  for (const cost of costs) {
    if (best.length <= 1) break
    const lowest = Math.min(...best.map((candidate) => cost(candidate, nowMs)))
    best = best.filter((candidate) => cost(candidate, nowMs) === lowest)
  }
  return best[0]
}
