import { isStatus } from '../../shared/api/status/status-error.ts'
import { pods } from '../../shared/client/resources.ts'
import { reasonFor } from '../../shared/reasons/reason-table.ts'
import type { ControllerContext } from '../controller.ts'
import type { EventRecorder } from '../event-recorder.ts'
import type { TrimmedPod } from '../informers/trimmed-pod.ts'
import { setPodStatus } from '../pods/pod-conditions.ts'
import type { PodInfo } from './node-info.ts'
import type { Candidate } from './preemption.ts'

const CONDITION = { type: 'DisruptionTarget', status: 'True', reason: 'PreemptionByScheduler' }

/** Carries out what preemption has decided. Upstream: pkg/scheduler/framework/preemption/executor.go. */
export class Preemptor {
  readonly #context: Pick<ControllerContext, 'client' | 'clock'>
  readonly #recorder: EventRecorder
  /** Victims that were deleted, until they are gone. */
  readonly #deleted = new Set<string>()

  constructor(context: Pick<ControllerContext, 'client' | 'clock'>, recorder: EventRecorder) {
    this.#context = context
    this.#recorder = recorder
  }

  isVictim({ metadata, status }: TrimmedPod): boolean {
    if (this.#deleted.has(metadata.uid ?? '')) return true
    const target = status?.conditions?.find(({ type }) => type === CONDITION.type)
    return metadata.deletionTimestamp !== undefined && target?.status === 'True' && target.reason === CONDITION.reason
  }

  forget(uid: string): void {
    this.#deleted.delete(uid)
  }

  /** Resolves when all victims have begun to end; `yielding`: pods whose nomination for the node is over. */
  async preempt(preemptor: TrimmedPod, { nodeName, victims }: Candidate, yielding: readonly PodInfo[]): Promise<void> {
    await Promise.all([
      ...yielding.map(({ pod }) => this.takeBackNomination(pod)),
      ...victims.filter(({ pod }) => !this.#isEnding(pod)).map(({ pod }) => this.#end(pod, preemptor, nodeName)),
    ])
  }

  async takeBackNomination(pod: TrimmedPod): Promise<void> {
    await setPodStatus(this.#context.client, pod, { nominatedNodeName: '' }, this.#context.clock.now())
  }

  #isEnding({ metadata: { uid = '', deletionTimestamp } }: TrimmedPod): boolean {
    return deletionTimestamp !== undefined || this.#deleted.has(uid)
  }

  async #end(victim: TrimmedPod, preemptor: TrimmedPod, nodeName: string): Promise<void> {
    const { client, clock } = this.#context
    const { namespace, name = '', uid = '' } = victim.metadata
    const message = `${preemptor.spec.schedulerName}: preempting to accommodate a higher priority pod`
    try {
      await setPodStatus(client, victim, { condition: { ...CONDITION, message } }, clock.now())
      const reason = reasonFor('scheduler', 'preemption')
      await client.delete(pods, { namespace, name }, { preconditions: { uid }, reason })
    } catch (error) {
      if (isStatus(error, 'NotFound') || isStatus(error, 'Conflict')) return
      throw error
    }
    this.#deleted.add(uid)
    this.#recorder.record({
      kind: 'Pod',
      regarding: victim,
      type: 'Normal',
      reason: 'Preempted',
      action: 'Preempting',
      message: `Preempted by pod ${preemptor.metadata.uid} on node ${nodeName}`,
    })
  }
}
