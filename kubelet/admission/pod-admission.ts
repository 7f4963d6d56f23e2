import { hasEnded } from '../../shared/api/pods/pod-phase.ts'
import type { Node, Pod, PodStatus } from '../../shared/api/types.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { toTime } from '../../shared/clock/timestamp.ts'
import type { KillOptions } from '../ending/pod-state-machine.ts'
import type { EventRecorder } from '../events/event-recorder.ts'
import type { KubeletMetrics } from '../metrics/kubelet-metrics.ts'
import { isCritical } from '../pod/critical-pod.ts'
import { type AdmitHandler, firstRejection, type Rejection, rejectedStatus } from '../pod/rejection.ts'
import type { Shortage } from '../pods/pod-resizes.ts'
import type { PodHandler } from '../pods/pod-source.ts'
import { disruptedByKubelet } from '../status/disruption.ts'
import type { StatusManager } from '../status/status-manager.ts'
import { NodeLoad, type PodLoad, podLoad } from './node-load.ts'
import { failedPredicate, type PredicateFailure, resources } from './predicates.ts'
import { victims } from './preemption.ts'

export interface PodAdmissionOptions {
  clock: Clock
  events: EventRecorder
  /** A pod is not taken: its last status is told. */
  reject(pod: Pod, status: PodStatus): void
  statuses: Pick<StatusManager, 'forget'>
  /** Asked before the predicates, in this order. */
  handlers: readonly AdmitHandler[]
  /** This node, as the API has it. */
  node(): Node
  /** Resolves when the pod's containers are gone. */
  kill(pod: Pod, options: KillOptions): Promise<void>
  metrics?: Pick<KubeletMetrics, 'rejected' | 'preempted'>
}

const PREEMPTED = 'Preempted in order to admit critical pod'
const MADE_ROOM = 'Pod was preempted by Kubelet to accommodate a critical pod.'

/**
 * Stands before another handler of pods, which sees only those that the node takes. Upstream: HandlePodAdditions in
 * pkg/kubelet/kubelet.go, pkg/kubelet/preemption.
 */
export class PodAdmission implements PodHandler {
  readonly #options: PodAdmissionOptions
  readonly #next: PodHandler
  readonly #load = new NodeLoad()
  readonly #rejected = new Set<string>()
  /** Critical pods that others make room for, with the newest object of each. */
  readonly #waiting = new Map<string, Pod>()

  constructor(options: PodAdmissionOptions, next: PodHandler) {
    this.#options = options
    this.#next = next
  }

  onAdd(pod: Pod): void {
    if (hasEnded(pod)) {
      this.#next.onAdd(pod)
      return
    }
    const load = this.#load
    const wanted = podLoad(pod)
    const rejection = firstRejection(pod, this.#options.handlers)
    const failure = rejection ? undefined : failedPredicate({ wanted, node: this.#options.node(), load })
    const chosen = failure?.lacking && isCritical(pod) ? victims(pod, load.pods, failure.lacking) : undefined
    if (rejection) this.#reject(pod, rejection)
    else if (!failure) {
      load.take(wanted)
      this.#next.onAdd(pod)
    } else if (chosen?.length) void this.#makeRoom(pod, chosen, lacking(failure))
    else this.#reject(pod, failure)
  }

  onUpdate(pod: Pod): void {
    const uid = uidOf(pod)
    this.#load.saw(pod)
    if (this.#waiting.has(uid)) this.#waiting.set(uid, pod)
    // A rejected pod never becomes another; but someone has to finish one that is deleted.
    else if (!this.#rejected.has(uid)) this.#next.onUpdate(pod)
    else if (pod.metadata.deletionTimestamp) this.#next.onUpdate({ ...pod, status: { ...pod.status, phase: 'Failed' } })
  }

  onReconcile(pod: Pod): void {
    this.#load.saw(pod)
    if (this.#waiting.has(uidOf(pod))) this.#waiting.set(uidOf(pod), pod)
    else this.#next.onReconcile(pod)
  }

  onRemove(pod: Pod): void {
    const uid = uidOf(pod)
    if (this.#waiting.delete(uid)) return
    // Upstream counts the pods that the API has: one that was deleted by force is none, though its containers still
    // end.
    this.#load.release(uid)
    if (!this.#rejected.delete(uid)) this.#next.onRemove(pod)
    else this.#options.statuses.forget(uid)
  }

  /** Keeps what a running pod asks for now; if that cannot be, what it had before stays kept. */
  resize(pod: Pod): Shortage | undefined {
    const wanted = podLoad(pod)
    const node = this.#options.node()
    const never = resources({ wanted, node, load: new NodeLoad() })
    if (never) {
      return { reason: 'Infeasible', message: never.message.replace(/resource(: .*), used: \d+/, 'capacity$1') }
    }
    const load = this.#load
    const before = load.release(uidOf(pod))
    const now = resources({ wanted, node, load })
    if (!now || before) load.take(now && before ? before : wanted)
    return now && { reason: 'Deferred', message: now.message }
  }

  /** A pod is over: what it held is free. */
  released(podUid: string): void {
    this.#load.release(podUid)
  }

  #reject(pod: Pod, rejection: Rejection): void {
    const { clock, events, metrics, reject } = this.#options
    const startTime = toTime(clock.now())
    const status = { ...rejectedStatus(pod, rejection), observedGeneration: pod.metadata.generation, startTime }
    this.#rejected.add(uidOf(pod))
    metrics?.rejected(rejection.reason)
    events.podEvent(pod, undefined, 'Warning', rejection.reason, rejection.message)
    reject(pod, status)
  }

  async #makeRoom(pod: Pod, chosen: PodLoad[], resource: string): Promise<void> {
    this.#waiting.set(uidOf(pod), pod)
    await Promise.all(chosen.map(({ pod: victim }) => this.#preempt(victim, resource)))
    const newest = this.#waiting.get(uidOf(pod))
    this.#waiting.delete(uidOf(pod))
    if (newest) this.onAdd(newest)
  }

  async #preempt(victim: Pod, resource: string): Promise<void> {
    const { clock, events, kill, metrics } = this.#options
    events.podEvent(victim, undefined, 'Warning', 'Preempting', PREEMPTED)
    await kill(victim, { cause: 'Preempted', status: (status) => preempted(victim, status, clock) })
    this.#load.release(uidOf(victim))
    metrics?.preempted(resource)
  }
}

/** The status of a pod that makes room for a critical one. */
const preempted = ({ metadata: { generation } }: Pod, status: PodStatus, clock: Clock): PodStatus => ({
  ...status,
  phase: 'Failed',
  reason: 'Preempting',
  message: PREEMPTED,
  conditions: disruptedByKubelet(status, { message: MADE_ROOM, generation, time: toTime(clock.now()) }),
})

/** Returns the first of the lacking resources. */
const lacking = ({ lacking }: PredicateFailure): string => lacking?.keys().next().value ?? ''

const uidOf = ({ metadata }: Pod): string => metadata.uid ?? ''
