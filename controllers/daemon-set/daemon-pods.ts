import { matchesNodeSelection } from '../../shared/api/nodes/node-affinity.ts'
import { type Toleration, untolerated } from '../../shared/api/nodes/taints.ts'
import { hasEnded } from '../../shared/api/pods/pod-phase.ts'
import { scaledValue } from '../../shared/api/quantities/int-or-percent.ts'
import type { PodSpec } from '../../shared/api/types.ts'
import type { DaemonSet } from '../../shared/api/workloads/workloads.ts'
import { parseTime } from '../../shared/clock/timestamp.ts'
import { type Reason, reasonFor } from '../../shared/reasons/reason-table.ts'
import type { TrimmedNode } from '../informers/trimmed-node.ts'
import type { TrimmedPod } from '../informers/trimmed-pod.ts'
import { isAvailable } from '../workloads/pod-states.ts'
import { REVISION_HASH_LABEL } from '../workloads/revision-history.ts'
import { superfluous, surgeCount, surgeOn } from './surge.ts'

const on = (condition: string, effect: string): Toleration => ({
  key: `node.kubernetes.io/${condition}`,
  operator: 'Exists',
  effect,
})
/**
 * Daemon pods tolerate these taints, so that they stay on nodes that other pods leave, and are scheduled where others
 * may not be.
 */
const tolerations = [
  on('not-ready', 'NoExecute'),
  on('unreachable', 'NoExecute'),
  on('disk-pressure', 'NoSchedule'),
  on('memory-pressure', 'NoSchedule'),
  on('pid-pressure', 'NoSchedule'),
  on('unschedulable', 'NoSchedule'),
]

function tolerationsOf({ template }: DaemonSet['spec']): Toleration[] {
  const own = template.spec?.tolerations ?? []
  const more = template.spec?.hostNetwork ? [on('network-unavailable', 'NoSchedule')] : []
  const added = [...tolerations, ...more].filter(
    ({ key, effect }) => !own.some((one) => one.key === key && one.effect === effect && one.operator === 'Exists'),
  )
  return [...own, ...added]
}

/** Returns whether the set's node name, selector and affinity allow the node, without regard to taints. */
function selects({ spec }: DaemonSet, node: TrimmedNode): boolean {
  const template: Pick<PodSpec, 'nodeSelector' | 'affinity' | 'nodeName'> = spec.template.spec ?? {}
  const isNamed = !template.nodeName || template.nodeName === node.metadata.name
  return isNamed && matchesNodeSelection(template, node)
}

/**
 * Returns whether a pod of the set should run on the node, and whether an existing pod may stay. Upstream:
 * NodeShouldRunDaemonPod.
 */
export function belongsOn(set: DaemonSet, node: TrimmedNode): { run: boolean; stay: boolean } {
  if (!selects(set, node)) return { run: false, stay: false }
  const taints = node.spec?.taints ?? []
  const tolerated = tolerationsOf(set.spec)
  return {
    run: untolerated(taints, tolerated, ['NoSchedule', 'NoExecute']).length === 0,
    stay: untolerated(taints, tolerated, ['NoExecute']).length === 0,
  }
}

/** Returns the pod's spec for one node; its affinity makes the scheduler choose that node. */
export function pinned(spec: PodSpec, nodeName: string, set: DaemonSet): PodSpec {
  const matchFields = [{ key: 'metadata.name', operator: 'In', values: [nodeName] }]
  const nodeAffinity = spec.affinity?.nodeAffinity
  const required = nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  const terms = required?.nodeSelectorTerms.map((term) => ({ ...term, matchFields })) ?? [{ matchFields }]
  return {
    ...spec,
    tolerations: tolerationsOf(set.spec),
    affinity: {
      ...spec.affinity,
      nodeAffinity: {
        ...nodeAffinity,
        requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms },
      },
    },
  }
}

/** Returns the node that a pod is on, or is meant for. */
export function nodeOf({ spec }: TrimmedPod): string | undefined {
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  const fields = required?.nodeSelectorTerms.flatMap(({ matchFields = [] }) => matchFields) ?? []
  return spec.nodeName ?? fields.find(({ key }) => key === 'metadata.name')?.values?.[0]
}

export interface DaemonPlan {
  /** Names of the nodes that get a pod. */
  create: string[]
  remove: { pod: TrimmedPod; reason?: Reason }[]
  /** Pods that have ended and are replaced; `remove` contains them, too. */
  ended: TrimmedPod[]
}
export interface DaemonInput {
  set: DaemonSet
  nodes: readonly TrimmedNode[]
  pods: readonly TrimmedPod[]
}

/**
 * Plans one pod for each node that should run one, and none elsewhere. During a surge a node has an old and a new pod.
 * Pure; upstream: podsShouldBeOnNode in pkg/controller/daemon.
 */
export function placement({ set, nodes, pods }: DaemonInput, hash: string, nowMs: number): DaemonPlan {
  const surges = surgeCount(set, nodes.length) > 0
  const plan: DaemonPlan = { create: [], remove: [], ended: [] }
  const byNode = Map.groupBy(pods, nodeOf)
  for (const node of nodes) {
    const { run, stay } = belongsOn(set, node)
    const here = (byNode.get(node.metadata.name) ?? []).filter(({ metadata }) => !metadata.deletionTimestamp)
    const going = (byNode.get(node.metadata.name) ?? []).length > here.length
    if (!stay) {
      const reason = reasonFor(
        'DaemonSet',
        selects(set, node) ? 'NoExecute taint not tolerated' : 'node no longer selected',
      )
      plan.remove.push(...here.map((pod) => ({ pod, reason })))
    } else {
      const ended = here.filter(hasEnded)
      plan.ended.push(...ended)
      plan.remove.push(...ended.map((pod) => ({ pod })))
      const alive = here.filter((pod) => !ended.includes(pod)).sort(byAge)
      const surplus = surges ? superfluous(alive, { set, hash, nowMs }) : alive.slice(1)
      plan.remove.push(...surplus.map((pod) => ({ pod, reason: whyTooMany(pod, surges && hash) })))
      // The next one comes when the last is gone.
      if (run && here.length === 0 && !going) plan.create.push(node.metadata.name ?? '')
    }
  }
  return plan
}

/** An old pod beside a new one is replaced. */
const whyTooMany = ({ metadata }: TrimmedPod, hash: string | false): Reason | undefined => {
  const isOld = hash !== false && metadata.labels?.[REVISION_HASH_LABEL] !== hash
  return reasonFor('DaemonSet', isOld ? 'template changed, with maxSurge' : 'second pod on a node')
}

const byAge = (a: TrimmedPod, b: TrimmedPod): number =>
  parseTime(a.metadata.creationTimestamp ?? '') - parseTime(b.metadata.creationTimestamp ?? '')

/** Nodes that are to have a new pod beside their old one. */
export function surging({ set, nodes, pods }: DaemonInput, hash: string, nowMs: number): string[] {
  const byNode = Map.groupBy(pods, nodeOf)
  const wanted = nodes.filter((node) => belongsOn(set, node).run).map(({ metadata }) => metadata.name ?? '')
  if (surgeCount(set, wanted.length) === 0) return []
  return surgeOn(new Map(wanted.map((name) => [name, byNode.get(name) ?? []])), { set, hash, nowMs })
}

/**
 * Old pods to be replaced now: those that are not available, and others as far as maxUnavailable allows. Upstream:
 * rollingUpdate in update.go.
 */
export function outdated({ set, nodes, pods }: DaemonInput, hash: string, nowMs: number): TrimmedPod[] {
  const { type, rollingUpdate } = set.spec.updateStrategy ?? {}
  if (type === 'OnDelete' || surgeCount(set, nodes.length) > 0) return []
  const wanted = nodes.filter((node) => belongsOn(set, node).run)
  const maxUnavailable = rollingUpdate?.maxUnavailable as number | string | undefined
  let mayGo = scaledValue(maxUnavailable ?? 1, wanted.length, Math.ceil) || 1
  const byNode = Map.groupBy(pods, nodeOf)
  const replace: TrimmedPod[] = []
  const candidates: TrimmedPod[] = []
  for (const node of wanted) {
    const here = byNode.get(node.metadata.name) ?? []
    const isUp = here.some(
      (pod) => !pod.metadata.deletionTimestamp && isAvailable(pod, set.spec.minReadySeconds ?? 0, nowMs),
    )
    if (!isUp) mayGo -= 1
    const [old] = here.filter(
      ({ metadata }) => !metadata.deletionTimestamp && metadata.labels?.[REVISION_HASH_LABEL] !== hash,
    )
    if (old) (isUp ? candidates : replace).push(old)
  }
  return [...replace, ...candidates.slice(0, Math.max(0, mayGo))]
}

/** Returns the status of a DaemonSet. Upstream: updateDaemonSetStatus. */
export function daemonSetStatus({ set, nodes, pods }: DaemonInput, hash: string, nowMs: number): DaemonSet['status'] {
  const byNode = Map.groupBy(pods, nodeOf)
  const count = { desired: 0, current: 0, misplaced: 0, ready: 0, available: 0, updated: 0 }
  for (const node of nodes) {
    const here = byNode.get(node.metadata.name) ?? []
    if (!belongsOn(set, node).run) {
      if (here.length > 0) count.misplaced += 1
      continue
    }
    count.desired += 1
    const [oldest] = [...here].sort(byAge)
    if (!oldest) continue
    count.current += 1
    if (isAvailable(oldest, 0, nowMs)) count.ready += 1
    if (isAvailable(oldest, set.spec.minReadySeconds ?? 0, nowMs)) count.available += 1
    if (oldest.metadata.labels?.[REVISION_HASH_LABEL] === hash) count.updated += 1
  }
  return {
    currentNumberScheduled: count.current,
    desiredNumberScheduled: count.desired,
    numberMisscheduled: count.misplaced,
    numberReady: count.ready,
    ...(set.metadata.generation && { observedGeneration: set.metadata.generation }),
    ...(count.updated && { updatedNumberScheduled: count.updated }),
    ...(count.available && { numberAvailable: count.available }),
    ...(count.desired > count.available && { numberUnavailable: count.desired - count.available }),
  }
}
