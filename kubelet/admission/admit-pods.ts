import { hasEnded } from '../../shared/api/pod-phase.ts'
import type { Node, Pod } from '../../shared/api/types.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { toTime } from '../../shared/clock/timestamp.ts'
import type { EventRecorder } from '../events/event-recorder.ts'
import type { KubeletMetrics } from '../metrics/kubelet-metrics.ts'
import type { Shortage } from '../pods/pod-resizes.ts'
import type { PodHandler } from '../pods/pod-source.ts'
import type { KillOptions } from '../pods/pod-state-machine.ts'
import { disruptedByKubelet } from '../status/disruption.ts'
import type { StatusManager } from '../status/status-manager.ts'
import { isCritical } from './critical-pod.ts'
import { NodeLoad, type PodLoad, podLoad } from './node-load.ts'
import { failedPredicate, type PredicateFailure, resources } from './predicates.ts'
import { victims } from './preemption.ts'
import { type AdmitHandler, firstRejection, type Rejection, rejectedStatus } from './rejection.ts'

export interface PodAdmissionOptions {
  clock: Clock
  events: EventRecorder
  statuses: Pick<StatusManager, 'set' | 'forget'>
  /** Asked before the predicates, in this order. */
  handlers: readonly AdmitHandler[]
  /** This node, as the API has it. */
  node(): Node
  /** Resolves when the pod's containers are gone. */
  kill(pod: Pod, options: KillOptions): Promise<void>
  metrics?: Pick<KubeletMetrics, 'rejected' | 'preempted'>
}
/** Stands before another handler of pods, which sees only those that the node takes. */
export interface PodAdmission extends PodHandler {
  /** Keeps what a running pod asks for now; if that cannot be, what it had before stays kept. */
  resize(pod: Pod): Shortage | undefined
  /** A pod is over: what it held is free. */
  released(podUid: string): void
}

const PREEMPTED = 'Preempted in order to admit critical pod'
const MADE_ROOM = 'Pod was preempted by Kubelet to accommodate a critical pod.'

/** Upstream: HandlePodAdditions in pkg/kubelet/kubelet.go, pkg/kubelet/preemption. */
export function admitPods(options: PodAdmissionOptions, next: PodHandler): PodAdmission {
  const { clock, events, statuses } = options
  const load = new NodeLoad()
  const rejected = new Set<string>()
  /** Critical pods that others make room for, with the newest object of each. */
  const waiting = new Map<string, Pod>()

  function reject(pod: Pod, rejection: Rejection): void {
    const startTime = toTime(clock.now())
    const status = { ...rejectedStatus(pod, rejection), observedGeneration: pod.metadata.generation, startTime }
    rejected.add(uidOf(pod))
    options.metrics?.rejected(rejection.reason)
    events.podEvent(pod, undefined, 'Warning', rejection.reason, rejection.message)
    statuses.set(pod, status)
  }

  function add(pod: Pod): void {
    if (hasEnded(pod)) {
      next.onAdd(pod)
      return
    }
    const wanted = podLoad(pod)
    const rejection = firstRejection(pod, options.handlers)
    const failure = rejection ? undefined : failedPredicate({ wanted, node: options.node(), load })
    const chosen = failure?.lacking && isCritical(pod) ? victims(pod, load.pods, failure.lacking) : undefined
    if (rejection) reject(pod, rejection)
    else if (!failure) {
      load.take(wanted)
      next.onAdd(pod)
    } else if (chosen?.length) void makeRoom(pod, chosen, lacking(failure))
    else reject(pod, failure)
  }

  async function makeRoom(pod: Pod, chosen: PodLoad[], resource: string): Promise<void> {
    waiting.set(uidOf(pod), pod)
    await Promise.all(
      chosen.map(async ({ pod: victim }) => {
        events.podEvent(victim, undefined, 'Warning', 'Preempting', PREEMPTED)
        await options.kill(victim, { cause: 'Preempted', status: preempted(victim) })
        load.release(uidOf(victim))
        options.metrics?.preempted(resource)
      }),
    )
    const newest = waiting.get(uidOf(pod))
    waiting.delete(uidOf(pod))
    if (newest) add(newest)
  }

  const preempted =
    ({ metadata: { generation } }: Pod): KillOptions['status'] =>
    (status) => ({
      ...status,
      phase: 'Failed',
      reason: 'Preempting',
      message: PREEMPTED,
      conditions: disruptedByKubelet(status, { message: MADE_ROOM, generation, time: toTime(clock.now()) }),
    })

  return {
    onAdd: add,
    onUpdate(pod) {
      const uid = uidOf(pod)
      load.saw(pod)
      if (waiting.has(uid)) waiting.set(uid, pod)
      // A rejected pod never becomes another; but someone has to finish one that is deleted.
      else if (!rejected.has(uid)) next.onUpdate(pod)
      else if (pod.metadata.deletionTimestamp) next.onUpdate({ ...pod, status: { ...pod.status, phase: 'Failed' } })
    },
    onReconcile(pod) {
      load.saw(pod)
      if (waiting.has(uidOf(pod))) waiting.set(uidOf(pod), pod)
      else next.onReconcile(pod)
    },
    onRemove(pod) {
      const uid = uidOf(pod)
      if (waiting.delete(uid)) return
      // Upstream counts the pods that the API has: one that was deleted by force is none, though its containers still
      // end.
      load.release(uid)
      if (!rejected.delete(uid)) next.onRemove(pod)
      else statuses.forget(uid)
    },
    resize(pod) {
      const wanted = podLoad(pod)
      const node = options.node()
      const never = resources({ wanted, node, load: new NodeLoad() })
      if (never)
        return { reason: 'Infeasible', message: never.message.replace(/resource(: .*), used: \d+/, 'capacity$1') }
      const before = load.release(uidOf(pod))
      const now = resources({ wanted, node, load })
      if (!now || before) load.take(now && before ? before : wanted)
      return now && { reason: 'Deferred', message: now.message }
    },
    released: (podUid) => void load.release(podUid),
  }
}

/** Of what is lacking, the first. */
const lacking = ({ lacking }: PredicateFailure): string => lacking?.keys().next().value ?? ''

const uidOf = ({ metadata }: Pod): string => metadata.uid ?? ''
