import type { Node, Pod } from '../../shared/api/types.ts'
import { filters, type Rejection } from './filters.ts'
import type { NodeInfo, PodInfo } from './node-info.ts'
import { pickBest } from './scores.ts'

/** Where a pod shall run, or in upstream's words why nowhere. */
export type Decision = { nodeName: string } | { message: string }

/** `problem`: what keeps the pod from every node alike. */
export function decide(
  pod: PodInfo,
  nodes: Iterable<NodeInfo>,
  { random, problem }: { random: () => number; problem?: string },
): Decision {
  if (problem !== undefined) return { message: refuse(pod.pod, problem, [...nodes].filter(isPresent).length) }
  const candidates: (NodeInfo & { node: Node })[] = []
  const rejections: Rejection[] = []
  for (const info of nodes) {
    if (!isPresent(info)) continue
    const rejection = firstRejection(pod, info)
    if (rejection) rejections.push(rejection)
    else candidates.push(info)
  }
  const best = pickBest(pod, candidates, random)
  if (best) return { nodeName: best.node.metadata.name ?? '' }
  return { message: rejections.length === 0 ? 'no nodes available to schedule pods' : explain(pod.pod, rejections) }
}

const isPresent = (info: NodeInfo): info is NodeInfo & { node: Node } => info.node !== undefined

function firstRejection(pod: PodInfo, info: NodeInfo & { node: Node }): Rejection | undefined {
  for (const { check } of filters) {
    const rejection = check(pod, info)
    if (rejection) return rejection
  }
  return undefined
}

function explain(pod: Pod, rejections: readonly Rejection[]): string {
  const total = rejections.length
  const why = tally(
    total,
    rejections.flatMap(({ reasons }) => reasons),
  )
  return `${why} ${preemptionWords(pod, rejections)}`
}

/** No node was asked. Upstream: what a PreFilter plugin says. */
const refuse = (pod: Pod, problem: string, total: number): string => {
  const nobody: Rejection[] = Array.from({ length: total }, () => ({ reasons: [], resolvable: false }))
  return total === 0
    ? 'no nodes available to schedule pods'
    : `0/${total} nodes are available: ${problem}. ${preemptionWords(pod, nobody)}`
}

const preemptionWords = (pod: Pod, rejections: readonly Rejection[]): string =>
  `no new claims to deallocate, preemption: ${preemption(pod, rejections)}`

function preemption({ spec }: Pod, rejections: readonly Rejection[]): string {
  if (spec.preemptionPolicy === 'Never') return 'not eligible due to preemptionPolicy=Never.'
  const words = ({ resolvable }: Rejection): string =>
    resolvable ? 'No preemption victims found for incoming pod' : 'Preemption is not helpful for scheduling'
  return tally(rejections.length, rejections.map(words))
}

/** `0/3 nodes are available: 1 Too many pods, 2 node(s) were unschedulable.` */
function tally(total: number, reasons: readonly string[]): string {
  const counts = new Map<string, number>()
  for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1)
  const list = [...counts].map(([reason, count]) => `${count} ${reason}`).sort()
  return `0/${total} nodes are available: ${list.join(', ')}.`
}
