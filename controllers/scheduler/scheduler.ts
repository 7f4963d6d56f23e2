import { isDeepStrictEqual } from 'node:util'
import { podRequests } from '../../shared/api/amounts.ts'
import { hasEnded } from '../../shared/api/pod-phase.ts'
import { isStatus } from '../../shared/api/status-error.ts'
import type { Binding, Node, Pod } from '../../shared/api/types.ts'
import type { PersistentVolumeClaim } from '../../shared/api/volumes.ts'
import { persistentVolumeClaims, pods as podsResource } from '../../shared/client/resources.ts'
import type { Timer } from '../../shared/clock/clock.ts'
import { createWorkQueue } from '../../shared/concurrency/work-queue.ts'
import type { Controller, ControllerContext } from '../controller.ts'
import { createEventRecorder } from '../event-recorder.ts'
import { setPodStatus } from '../pod-conditions.ts'
import { claimsProblem, isBound } from './claims.ts'
import { decide } from './decide.ts'
import { NodeInfo, podInfo } from './node-info.ts'
import { SchedulingQueue } from './scheduling-queue.ts'

const NAME = 'default-scheduler'
/** Upstream looks at pods that fit nowhere again after this, whatever happened or did not. */
const FLUSH_MS = 5 * 60_000
const BINDINGS_AT_ONCE = 16
const REBIND_MS = 1_000

/** Gives each pending pod a node: by the filters, then the scores; and says why when none will do. */
export function startScheduler(
  context: ControllerContext,
  { random = Math.random }: { random?: () => number } = {},
): Controller {
  const { client, informers, clock, log } = context
  const recorder = createEventRecorder({ client, clock, log, component: NAME })
  const nodes = new Map<string, NodeInfo>()
  /** Where a pod is, or is about to be: UID → node name. */
  const placed = new Map<string, string>()
  const pending = new SchedulingQueue()
  const claims = informers.whole<PersistentVolumeClaim>(persistentVolumeClaims)

  /** Each entry is one attempt; with which pod, the queue decides when its turn comes. */
  const attempts = createWorkQueue<number>({
    clock,
    concurrency: BINDINGS_AT_ONCE,
    work: attempt,
    onError: (error) => log.warn({ err: error }, 'scheduling will be tried again'),
  })
  let attemptNumber = 0
  const tryOne = (): void => attempts.add(++attemptNumber)

  async function attempt(): Promise<void> {
    const taken = pending.take()
    if (!taken) return
    const { pod, lastVerdict, park } = taken
    const decision = decide(podInfo(pod), nodes.values(), { random, problem: claimsProblem(pod, claims) })
    if ('nodeName' in decision) {
      if ((await bind(pod, decision.nodeName)) || !park('the binding failed')) return
    } else {
      // Said once, though the pod as we know it may not show it yet.
      if (decision.message !== lastVerdict) await reject(pod, decision.message)
      if (!park(decision.message)) return
    }
    tryOne()
  }

  /** True when the pod is where it should be, or is no longer ours to place. */
  async function bind(pod: Pod, nodeName: string): Promise<boolean> {
    const uid = pod.metadata.uid ?? ''
    place(pod, nodeName)
    try {
      await postBinding(pod, nodeName)
      return true
    } catch (error) {
      unplace(uid)
      // Deleted or bound by someone else meanwhile: the watch will say, or has said.
      if (isStatus(error, 'NotFound') || isStatus(error, 'Conflict')) return true
      log.warn({ err: error, pod: pod.metadata.name, node: nodeName }, 'binding failed')
      retryLater()
      return false
    }
  }

  async function postBinding(pod: Pod, nodeName: string): Promise<void> {
    const { namespace, name = '', uid } = pod.metadata
    await client.create<Binding>(
      podsResource,
      {
        apiVersion: 'v1',
        kind: 'Binding',
        metadata: { namespace, name, uid },
        target: { apiVersion: 'v1', kind: 'Node', name: nodeName },
      },
      { namespace, name, subresource: 'binding' },
    )
    recorder.record({
      kind: 'Pod',
      regarding: pod,
      type: 'Normal',
      reason: 'Scheduled',
      action: 'Binding',
      message: `Successfully assigned ${namespace}/${name} to ${nodeName}`,
    })
  }

  async function reject(pod: Pod, message: string): Promise<void> {
    const old = pod.status?.conditions?.find(({ type }) => type === 'PodScheduled')
    if (old?.status === 'False' && old.message === message) return
    recorder.record({
      kind: 'Pod',
      regarding: pod,
      type: 'Warning',
      reason: 'FailedScheduling',
      action: 'Scheduling',
      message,
    })
    const condition = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }
    await setPodStatus(client, pod, { condition }, clock.now())
  }

  function place(pod: Pod, nodeName: string): void {
    const uid = pod.metadata.uid ?? ''
    if (placed.get(uid) !== nodeName) unplace(uid)
    placed.set(uid, nodeName)
    nodeInfo(nodeName).addPod(podInfo(pod))
  }

  /** Where a pod is, it may ask for more or less than before. */
  function resize(pod: Pod, nodeName: string): void {
    const known = nodeInfo(nodeName).pods.get(pod.metadata.uid ?? '')
    if (known?.pod.metadata.generation === pod.metadata.generation) return
    place(pod, nodeName)
    if (!isDeepStrictEqual(known?.requests, podRequests(pod))) retryAll()
  }

  function unplace(uid: string): boolean {
    const nodeName = placed.get(uid)
    if (nodeName === undefined) return false
    placed.delete(uid)
    const info = nodes.get(nodeName)
    info?.removePod(uid)
    if (info && !info.node && info.pods.size === 0) nodes.delete(nodeName)
    return true
  }

  function nodeInfo(name: string): NodeInfo {
    const info = nodes.get(name) ?? new NodeInfo()
    nodes.set(name, info)
    return info
  }

  function observePod(pod: Pod): void {
    const uid = pod.metadata.uid ?? ''
    if (hasEnded(pod)) {
      pending.remove(uid)
      if (unplace(uid)) retryAll()
    } else if (pod.spec.nodeName) {
      pending.remove(uid)
      if (placed.get(uid) !== pod.spec.nodeName) place(pod, pod.spec.nodeName)
      else resize(pod, pod.spec.nodeName)
    } else if (isOurs(pod) && !placed.has(uid)) {
      if (pending.put(pod)) tryOne()
    } else if (!placed.has(uid)) {
      pending.remove(uid)
    }
  }

  function forgetPod({ metadata: { uid = '' } }: Pod): void {
    pending.remove(uid)
    if (unplace(uid)) retryAll()
  }

  function observeNode(node: Node, old?: Node): void {
    nodeInfo(node.metadata.name ?? '').setNode(node)
    if (!old || schedulingView(node) !== schedulingView(old)) retryAll()
  }

  function forgetNode({ metadata: { name = '' } }: Node): void {
    const info = nodes.get(name)
    info?.setNode(undefined)
    if (info?.pods.size === 0) nodes.delete(name)
    retryAll()
  }

  function retryAll(): void {
    for (let woken = pending.wake(); woken > 0; woken--) tryOne()
  }

  let retrying: Timer | undefined
  function retryLater(): void {
    retrying ??= clock.setTimer(
      REBIND_MS,
      () => {
        retrying = undefined
        retryAll()
      },
      { background: true },
    )
  }

  const stopping = new AbortController()
  async function flush(): Promise<void> {
    while (!stopping.signal.aborted) {
      await clock.sleep(FLUSH_MS, { signal: stopping.signal }).catch(() => {})
      retryAll()
    }
  }

  const claimSeen = (claim: PersistentVolumeClaim, old?: PersistentVolumeClaim): void => {
    if (isBound(claim) && !(old && isBound(old))) retryAll()
  }
  claims.addHandler({ onAdd: (claim) => claimSeen(claim), onUpdate: claimSeen })
  informers.nodes().addHandler({ onAdd: (node) => observeNode(node), onUpdate: observeNode, onDelete: forgetNode })
  // Pods before the nodes are known would be told that there is none.
  void informers
    .nodes()
    .synced()
    .then(
      () => informers.pods().addHandler({ onAdd: observePod, onUpdate: observePod, onDelete: forgetPod }),
      () => {},
    )
  void flush()
  return {
    async close() {
      stopping.abort()
      retrying?.cancel()
      await attempts.close()
      await recorder.close()
    },
  }
}

const isOurs = ({ metadata, spec }: Pod): boolean =>
  !metadata.deletionTimestamp && (spec.schedulerName ?? NAME) === NAME && (spec.schedulingGates ?? []).length === 0

/** What of a node decides whether pods fit: its heartbeats do not. */
const schedulingView = ({ metadata, spec, status }: Node): string =>
  JSON.stringify([
    metadata.labels,
    spec?.taints,
    spec?.unschedulable,
    status?.allocatable,
    status?.conditions?.find(({ type }) => type === 'Ready')?.status,
  ])
