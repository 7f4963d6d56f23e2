import { hasEnded } from '../../shared/api/pods/pod-phase.ts'
import type { Termination } from '../../shared/api/termination.ts'
import { workloadOf } from '../../shared/api/workloads/workload-of.ts'
import { lacksTerminations } from '../../shared/client/lacks-terminations.ts'
import { terminations } from '../../shared/client/resources.ts'
import { toMicroTime } from '../../shared/clock/timestamp.ts'
import { type TellFailure, tellFailures } from '../../shared/concurrency/loop-failures.ts'
import type { ControllerContext } from '../controller.ts'
import type { TrimmedPod } from '../informers/trimmed-pod.ts'

type Ending = Pick<Termination, 'cause' | 'verdictType' | 'verdict' | 'phase'>

const unscheduled: Ending = {
  cause: 'PodDeleted',
  verdictType: 'NotStarted',
  verdict: 'no container had started: the pod had no node',
}
const lost: Ending = {
  cause: 'NodeLost',
  verdictType: 'NotSeen',
  verdict: 'how it ended is not known: its node was lost',
}
/** Records that wait; further ones are dropped. */
const MAX_QUEUE = 1_000

/** Records the ends of pods that no kubelet sees: a pod without a node, and a pod whose node is gone or silent. */
export class UnseenEnds {
  readonly #context: ControllerContext
  readonly #failed: TellFailure<string>
  #waiting = 0
  /** The API server has no terminations: it is not Kubestage's. */
  #isMissing = false
  #tail: Promise<void> = Promise.resolve()

  constructor(context: ControllerContext) {
    this.#context = context
    const { clock, log } = context
    const loop = 'pod-garbage-collector-controller'
    this.#failed = tellFailures({ clock, log, loop, object: 'the end of Pod', outcome: 'which is not recorded' })
    context.informers.pods().addHandler({ onDelete: (pod) => this.#deleted(pod) })
  }

  /** The pod fails and is removed, as its node is lost. */
  failed(pod: TrimmedPod): void {
    this.#record(pod, { ...lost, phase: 'Failed' })
  }

  #record(pod: TrimmedPod, ending: Ending): void {
    if (this.#waiting >= MAX_QUEUE || this.#isMissing) return
    this.#waiting++
    const nowMs = this.#context.clock.now()
    this.#tail = this.#tail.then(() => this.#write(pod, ending, nowMs))
  }

  /** Resolves when all records so far are written or given up. */
  close(): Promise<void> {
    return this.#tail
  }

  #deleted(pod: TrimmedPod): void {
    // What has ended was recorded then, or ended by itself; a mirror pod is only shown.
    if (hasEnded(pod) || pod.metadata.ownerReferences?.some(({ kind }) => kind === 'Node')) return
    const { nodeName } = pod.spec
    const phase = pod.status?.phase
    if (!nodeName) this.#record(pod, { ...unscheduled, phase })
    else if (!this.#isReady(nodeName)) this.#record(pod, { ...lost, phase })
  }

  #isReady(name: string): boolean {
    const { conditions = [] } = this.#context.informers.nodes().get({ name })?.status ?? {}
    return conditions.some(({ type, status }) => type === 'Ready' && status === 'True')
  }

  async #write({ metadata, spec }: TrimmedPod, ending: Ending, nowMs: number): Promise<void> {
    const { client } = this.#context
    const { name = '', namespace, uid, reason, deletionTimestamp } = metadata
    const time = toMicroTime(nowMs)
    const record: Termination = {
      metadata: { name: `${name.slice(0, 240)}.${Math.floor(nowMs).toString(36)}`, namespace },
      podName: name,
      podUID: uid,
      nodeName: spec.nodeName,
      workload: workloadOf({ metadata }),
      ...ending,
      reason,
      deletionTimestamp,
      startTime: time,
      endTime: time,
    }
    try {
      await client.create(terminations, record, { namespace, unread: true })
    } catch (error) {
      this.#isMissing = lacksTerminations(error)
      this.#failed(error, `${namespace}/${name}`)
    } finally {
      this.#waiting--
    }
  }
}
