import { isStatus } from '../../shared/api/status/status-error.ts'
import type { Lease } from '../../shared/api/types.ts'
import type { Client } from '../../shared/client/client.ts'
import { everyChange, type Informer } from '../../shared/client/informer.ts'
import { leases as leasesResource, nodes as nodesResource } from '../../shared/client/resources.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { parseTime, toTime } from '../../shared/clock/timestamp.ts'
import type { WorkQueue } from '../../shared/concurrency/work-queue.ts'
import type { Controller, ControllerContext } from '../controller.ts'
import { createEventRecorder, type EventRecorder } from '../event-recorder.ts'
import type { TrimmedNode } from '../informers/trimmed-node.ts'
import type { TrimmedPod } from '../informers/trimmed-pod.ts'
import { createLoopQueue } from '../loop-queue.ts'
import { setPodStatus } from '../pods/pod-conditions.ts'
import { conditionTaints, type EvictionStance, isEvicting } from './condition-taints.ts'
import { isReady, zoneEvictions, zoneOf } from './zones.ts'

const COMPONENT = 'node-controller'
const MONITOR_PERIOD_MS = 5_000
const MONITOR_GRACE_MS = 50_000
/** A grace in the machine's own time: however fast the clock is, a kubelet may be busy for a moment. */
const MACHINE_GRACE_MS = 2_000
/** Counts for a node whose kubelet has never reported. */
const STARTUP_GRACE_MS = 60_000
const KUBELET_CONDITIONS = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure']

type NodeCondition = NonNullable<NonNullable<TrimmedNode['status']>['conditions']>[number]
interface Heartbeat {
  /** Holds what was seen last, and since when by our own clock, as nodes' clocks are not trusted. */
  seen: string
  sinceMs: number
}

/**
 * Watches whether kubelets still report; says so on nodes that fell silent and their pods; keeps taints equal to
 * conditions.
 */
class NodeLifecycle implements Controller {
  readonly #monitorGraceMs: number
  readonly #client: Client
  readonly #clock: Clock
  readonly #recorder: EventRecorder
  readonly #nodes: Informer<TrimmedNode>
  readonly #pods: Informer<TrimmedPod>
  readonly #leases: Informer<Lease>
  readonly #heartbeats = new Map<string, Heartbeat>()
  /** Maps a zone to the time when its last node was cleared of its pods. */
  readonly #clearedAtMs = new Map<string, number>()
  /** Pods that were told, by the state they had then: our own write is seen a moment later. */
  readonly #told = new Map<string, string | undefined>()
  readonly #queue: WorkQueue<string>
  readonly #monitor: WorkQueue<'all'>

  constructor(context: ControllerContext, { monitorGraceMs = MONITOR_GRACE_MS }: { monitorGraceMs?: number } = {}) {
    this.#monitorGraceMs = monitorGraceMs
    const { client, informers, clock, log } = context
    this.#client = client
    this.#clock = clock
    this.#recorder = createEventRecorder({ client, clock, log, component: COMPONENT })
    this.#nodes = informers.nodes()
    this.#pods = informers.pods()
    this.#leases = informers.selected<Lease>(leasesResource, { selection: { namespace: 'kube-node-lease' } })
    this.#queue = createLoopQueue({ clock, log, loop: 'node-lifecycle-controller', object: 'Node' }, (name) =>
      this.#sync(name),
    )
    this.#monitor = createLoopQueue<'all'>(
      { clock, log, loop: 'node-lifecycle-controller', object: () => 'Nodes' },
      async () => {
        for (const { metadata } of this.#nodes.list()) this.#queue.add(metadata.name ?? '')
        this.#monitor.addAfter('all', MONITOR_PERIOD_MS)
      },
    )
    this.#monitor.addAfter('all', MONITOR_PERIOD_MS)
    this.#pods.addHandler({ onDelete: ({ metadata }) => void this.#told.delete(metadata.uid ?? '') })
    this.#nodes.addHandler(everyChange((node) => this.#consider(node)))
  }

  async close(): Promise<void> {
    await this.#monitor.close()
    await this.#queue.close()
    await this.#recorder.close()
  }

  async #sync(name: string): Promise<void> {
    const node = this.#nodes.get({ name })
    if (!node) return void this.#heartbeats.delete(name)
    try {
      if (this.#isSilent(node)) await this.#declareUnknown(node)
      else await this.#syncTaints(node)
      if (readyOf(node)?.status !== 'True') await this.#markPodsNotReady(name)
    } catch (error) {
      if (!isStatus(error, 'NotFound')) throw error
    }
  }

  #isSilent(node: TrimmedNode): boolean {
    const name = node.metadata.name ?? ''
    const lease = this.#leases.get({ namespace: 'kube-node-lease', name })
    const seen = JSON.stringify([lease?.spec?.renewTime, node.status?.conditions?.map((one) => one.lastHeartbeatTime)])
    const heartbeat = this.#heartbeats.get(name)
    if (heartbeat?.seen !== seen) this.#heartbeats.set(name, { seen, sinceMs: this.#clock.monotonic() })
    if (heartbeat?.seen !== seen || readyOf(node)?.status === 'Unknown') return false
    const silentMs = this.#clock.monotonic() - heartbeat.sinceMs
    if (readyOf(node)) return silentMs > Math.max(this.#monitorGraceMs, MACHINE_GRACE_MS * this.#clock.scale)
    return this.#clock.now() - parseTime(node.metadata.creationTimestamp ?? '') > STARTUP_GRACE_MS
  }

  async #declareUnknown(node: TrimmedNode): Promise<void> {
    const name = node.metadata.name ?? ''
    const conditions = node.status?.conditions ?? []
    const unknown = KUBELET_CONDITIONS.map((type) =>
      this.#silentCondition(
        type,
        conditions.find((one) => one.type === type),
      ),
    )
    const others = conditions.filter(({ type }) => !KUBELET_CONDITIONS.includes(type))
    await this.#client.patch(
      nodesResource,
      { name },
      { metadata: { resourceVersion: node.metadata.resourceVersion }, status: { conditions: [...unknown, ...others] } },
      { subresource: 'status' },
    )
    this.#recorder.record({
      kind: 'Node',
      regarding: node,
      type: 'Normal',
      reason: 'NodeNotReady',
      message: `Node ${name} status is now: NodeNotReady`,
    })
  }

  #silentCondition(type: string, old: NodeCondition | undefined): NodeCondition {
    const words = old
      ? { reason: 'NodeStatusUnknown', message: 'Kubelet stopped posting node status.' }
      : { reason: 'NodeStatusNeverUpdated', message: 'Kubelet never posted node status.' }
    const now = toTime(this.#clock.now())
    return {
      type,
      status: 'Unknown',
      lastHeartbeatTime: old?.lastHeartbeatTime ?? now,
      lastTransitionTime: now,
      ...words,
    }
  }

  async #syncTaints(node: TrimmedNode): Promise<void> {
    const { name = '', resourceVersion } = node.metadata
    const stance = this.#stanceOn(node)
    const taints = conditionTaints(node, { stance, nowMs: this.#clock.now() })
    if (!taints) return
    await this.#client.patch(nodesResource, { name }, { metadata: { resourceVersion }, spec: { taints } })
    if (stance === 'add' && taints.some(isEvicting)) this.#clearedAtMs.set(zoneOf(node), this.#clock.monotonic())
  }

  /** A zone's nodes are cleared one after the other, not all at once. */
  #stanceOn(node: TrimmedNode): EvictionStance {
    if (isReady(node)) return 'none'
    const zone = zoneOf(node)
    const { calledOff, nodesPerSecond } = zoneEvictions(this.#nodes.list()).get(zone) ?? {
      calledOff: true,
      nodesPerSecond: 0,
    }
    if (calledOff) return 'none'
    if (node.spec?.taints?.some(isEvicting) || nodesPerSecond === 0) return 'keep'
    const waitMs =
      (this.#clearedAtMs.get(zone) ?? Number.NEGATIVE_INFINITY) + 1000 / nodesPerSecond - this.#clock.monotonic()
    if (waitMs <= 0) return 'add'
    this.#queue.addAfter(node.metadata.name ?? '', waitMs)
    return 'keep'
  }

  async #markPodsNotReady(nodeName: string): Promise<void> {
    for (const pod of this.#pods.list()) {
      const ready = pod.status?.conditions?.find(({ type }) => type === 'Ready')
      const { uid = '', resourceVersion } = pod.metadata
      if (pod.spec.nodeName !== nodeName || ready?.status !== 'True' || this.#told.get(uid) === resourceVersion)
        continue
      await setPodStatus(this.#client, pod, { condition: { ...ready, status: 'False' } }, this.#clock.now())
      this.#told.set(uid, resourceVersion)
      this.#recordOnPod(pod)
    }
  }

  #recordOnPod(regarding: TrimmedPod): void {
    this.#recorder.record({
      kind: 'Pod',
      regarding,
      type: 'Warning',
      reason: 'NodeNotReady',
      message: 'Node is not ready',
    })
  }

  #consider({ metadata }: TrimmedNode): void {
    this.#queue.add(metadata.name ?? '')
  }
}

export const startNodeLifecycle = (context: ControllerContext, options?: { monitorGraceMs?: number }): Controller =>
  new NodeLifecycle(context, options)

const readyOf = ({ status }: TrimmedNode): NodeCondition | undefined =>
  status?.conditions?.find(({ type }) => type === 'Ready')
