import type { ObjectMeta } from '../../shared/api/types.ts'
import type { Informer } from '../../shared/client/informer.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import type { TrimmedPod } from '../informers/trimmed-pod.ts'
import { Expectations } from './expectations.ts'

type PodLike = Pick<TrimmedPod, 'metadata'>

/**
 * Tracks the pods that an owner (`namespace/name`) has created or deleted and that the informer does not show so yet.
 */
export class PodExpectations {
  readonly #expectations: Expectations
  readonly #pods: Informer<TrimmedPod>

  constructor({ clock, pods }: { clock: Clock; pods: Informer<TrimmedPod> }) {
    this.#expectations = new Expectations(clock)
    this.#pods = pods
  }

  /** Returns whether the informer's pods of the owner may be counted. */
  satisfied(owner: string): boolean {
    return this.#expectations.satisfied(owner)
  }

  forget(owner: string): void {
    this.#expectations.forget(owner)
  }

  /** Expects the pod, which the API server has created, to appear in the informer. */
  made(owner: string, { metadata }: PodLike): void {
    if (this.#shown(metadata)?.uid !== metadata.uid) this.#expectations.expect(owner, comes(metadata.uid))
  }

  /**
   * Calls `remove` and expects the pod to disappear from the informer. Rejects as `remove` does, and then expects
   * nothing.
   */
  async removing(owner: string, pod: PodLike, remove: () => Promise<void>): Promise<void> {
    const { uid } = pod.metadata
    this.#expectations.expect(owner, leaves(uid))
    try {
      await remove()
    } catch (error) {
      this.#expectations.seen(owner, leaves(uid))
      throw error
    }
    this.observe(owner, pod)
  }

  /** Reports a change of the pod in the informer. */
  observe(owner: string, { metadata }: PodLike): void {
    const shown = this.#shown(metadata)
    this.#expectations.seen(owner, comes(metadata.uid))
    if (shown?.uid !== metadata.uid || shown?.deletionTimestamp) this.#expectations.seen(owner, leaves(metadata.uid))
  }

  #shown({ namespace, name = '' }: ObjectMeta): ObjectMeta | undefined {
    return this.#pods.get({ namespace, name })?.metadata
  }
}

const comes = (uid = ''): string => `+${uid}`
const leaves = (uid = ''): string => `-${uid}`
