import { isStatus } from '../../shared/api/status-error.ts'
import type { Lease, Node } from '../../shared/api/types.ts'
import { leases as leasesResource, nodes as nodesResource } from '../../shared/client/resources.ts'
import { parseTime, toTime } from '../../shared/clock/timestamp.ts'
import { createWorkQueue } from '../../shared/concurrency/work-queue.ts'
import type { Controller, ControllerContext } from '../controller.ts'
import { createEventRecorder } from '../event-recorder.ts'
import { setPodStatus } from '../pod-conditions.ts'
import type { TrimmedPod } from '../trimmed-pod.ts'
import { conditionTaints, type EvictionStance, isEvicting } from './condition-taints.ts'
import { isReady, zoneEvictions, zoneOf } from './zones.ts'

const COMPONENT = 'node-controller'
const MONITOR_PERIOD_MS = 5_000
const MONITOR_GRACE_MS = 50_000
/** In the machine's own time: however fast the clock, a kubelet may be busy for a moment. */
const MACHINE_GRACE_MS = 2_000
/** For a node whose kubelet has never reported. */
const STARTUP_GRACE_MS = 60_000
const KUBELET_CONDITIONS = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure']

type NodeCondition = NonNullable<NonNullable<Node['status']>['conditions']>[number]
interface Heartbeat {
  /** What we saw last, and since when, by our own clock: nodes' clocks are not believed. */
  seen: string
  sinceMs: number
}

/** Watches whether kubelets still report; says so on nodes that fell silent and their pods; keeps taints equal to conditions. */
export function startNodeLifecycle(
  context: ControllerContext,
  { monitorGraceMs = MONITOR_GRACE_MS }: { monitorGraceMs?: number } = {},
): Controller {
  const { client, informers, clock, log } = context
  const recorder = createEventRecorder({ client, clock, log, component: COMPONENT })
  const nodes = informers.nodes()
  const pods = informers.pods()
  const leases = informers.selected<Lease>(leasesResource, { selection: { namespace: 'kube-node-lease' } })
  const heartbeats = new Map<string, Heartbeat>()
  /** When the last node of a zone was cleared of its pods. */
  const clearedAtMs = new Map<string, number>()
  /** Pods that were told, by the state they had then: our own write is seen a moment later. */
  const told = new Map<string, string | undefined>()

  async function sync(name: string): Promise<void> {
    const node = nodes.get({ name })
    if (!node) return void heartbeats.delete(name)
    try {
      if (isSilent(node)) await declareUnknown(node)
      else await syncTaints(node)
      if (readyOf(node)?.status !== 'True') await markPodsNotReady(name)
    } catch (error) {
      if (!isStatus(error, 'NotFound')) throw error
    }
  }

  function isSilent(node: Node): boolean {
    const name = node.metadata.name ?? ''
    const lease = leases.get({ namespace: 'kube-node-lease', name })
    const seen = JSON.stringify([lease?.spec?.renewTime, node.status?.conditions?.map((one) => one.lastHeartbeatTime)])
    const heartbeat = heartbeats.get(name)
    if (heartbeat?.seen !== seen) heartbeats.set(name, { seen, sinceMs: clock.monotonic() })
    if (heartbeat?.seen !== seen || readyOf(node)?.status === 'Unknown') return false
    const silentMs = clock.monotonic() - heartbeat.sinceMs
    if (readyOf(node)) return silentMs > Math.max(monitorGraceMs, MACHINE_GRACE_MS * clock.scale)
    return clock.now() - parseTime(node.metadata.creationTimestamp ?? '') > STARTUP_GRACE_MS
  }

  async function declareUnknown(node: Node): Promise<void> {
    const name = node.metadata.name ?? ''
    const conditions = node.status?.conditions ?? []
    const unknown = KUBELET_CONDITIONS.map((type) =>
      silentCondition(
        type,
        conditions.find((one) => one.type === type),
      ),
    )
    const others = conditions.filter(({ type }) => !KUBELET_CONDITIONS.includes(type))
    await client.patch(
      nodesResource,
      { name },
      { metadata: { resourceVersion: node.metadata.resourceVersion }, status: { conditions: [...unknown, ...others] } },
      { subresource: 'status' },
    )
    recorder.record({
      kind: 'Node',
      regarding: node,
      type: 'Normal',
      reason: 'NodeNotReady',
      message: `Node ${name} status is now: NodeNotReady`,
    })
  }

  function silentCondition(type: string, old: NodeCondition | undefined): NodeCondition {
    const words = old
      ? { reason: 'NodeStatusUnknown', message: 'Kubelet stopped posting node status.' }
      : { reason: 'NodeStatusNeverUpdated', message: 'Kubelet never posted node status.' }
    const now = toTime(clock.now())
    return {
      type,
      status: 'Unknown',
      lastHeartbeatTime: old?.lastHeartbeatTime ?? now,
      lastTransitionTime: now,
      ...words,
    }
  }

  async function syncTaints(node: Node): Promise<void> {
    const { name = '', resourceVersion } = node.metadata
    const stance = stanceOn(node)
    const taints = conditionTaints(node, { stance, nowMs: clock.now() })
    if (!taints) return
    await client.patch(nodesResource, { name }, { metadata: { resourceVersion }, spec: { taints } })
    if (stance === 'add' && taints.some(isEvicting)) clearedAtMs.set(zoneOf(node), clock.monotonic())
  }

  /** A zone's nodes are cleared one after the other, not all at once. */
  function stanceOn(node: Node): EvictionStance {
    if (isReady(node)) return 'none'
    const zone = zoneOf(node)
    const { calledOff, nodesPerSecond } = zoneEvictions(nodes.list()).get(zone) ?? {
      calledOff: true,
      nodesPerSecond: 0,
    }
    if (calledOff) return 'none'
    if (node.spec?.taints?.some(isEvicting) || nodesPerSecond === 0) return 'keep'
    const waitMs = (clearedAtMs.get(zone) ?? Number.NEGATIVE_INFINITY) + 1000 / nodesPerSecond - clock.monotonic()
    if (waitMs <= 0) return 'add'
    queue.addAfter(node.metadata.name ?? '', waitMs)
    return 'keep'
  }

  async function markPodsNotReady(nodeName: string): Promise<void> {
    for (const pod of pods.list()) {
      const ready = pod.status?.conditions?.find(({ type }) => type === 'Ready')
      const { uid = '', resourceVersion } = pod.metadata
      if (pod.spec.nodeName !== nodeName || ready?.status !== 'True' || told.get(uid) === resourceVersion) continue
      await setPodStatus(client, pod, { condition: { ...ready, status: 'False' } }, clock.now())
      told.set(uid, resourceVersion)
      recordOnPod(pod)
    }
  }

  const recordOnPod = (regarding: TrimmedPod): void =>
    recorder.record({ kind: 'Pod', regarding, type: 'Warning', reason: 'NodeNotReady', message: 'Node is not ready' })

  const queue = createWorkQueue<string>({
    clock,
    work: sync,
    onError: (error, node) => log.debug({ err: error, node }, 'node lifecycle will be tried again'),
  })
  const monitor = createWorkQueue<'all'>({
    clock,
    async work() {
      for (const { metadata } of nodes.list()) queue.add(metadata.name ?? '')
      monitor.addAfter('all', MONITOR_PERIOD_MS)
    },
    onError: (error) => log.warn({ err: error }, 'node monitor'),
  })
  monitor.addAfter('all', MONITOR_PERIOD_MS)
  const consider = ({ metadata }: Node): void => queue.add(metadata.name ?? '')
  pods.addHandler({ onDelete: ({ metadata }) => void told.delete(metadata.uid ?? '') })
  nodes.addHandler({ onAdd: consider, onUpdate: consider, onDelete: consider })
  return {
    async close() {
      await monitor.close()
      await queue.close()
      await recorder.close()
    },
  }
}

const readyOf = ({ status }: Node): NodeCondition | undefined =>
  status?.conditions?.find(({ type }) => type === 'Ready')
