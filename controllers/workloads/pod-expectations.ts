import type { ObjectMeta } from '../../shared/api/types.ts'
import type { Informer } from '../../shared/client/informer.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import type { TrimmedPod } from '../trimmed-pod.ts'
import { Expectations } from './expectations.ts'

type PodLike = Pick<TrimmedPod, 'metadata'>

/** Which pods an owner (`namespace/name`) has made or removed that the informer does not show so yet. */
export class PodExpectations {
  readonly #expectations: Expectations
  readonly #pods: Informer<TrimmedPod>

  constructor({ clock, pods }: { clock: Clock; pods: Informer<TrimmedPod> }) {
    this.#expectations = new Expectations(clock)
    this.#pods = pods
  }

  /** Whether the informer's pods of the owner may be counted. */
  satisfied(owner: string): boolean {
    return this.#expectations.satisfied(owner)
  }

  /** The owner is no more. */
  forget(owner: string): void {
    this.#expectations.forget(owner)
  }

  /** The API has answered with this pod. */
  made(owner: string, { metadata }: PodLike): void {
    if (this.#shown(metadata)?.uid !== metadata.uid) this.#expectations.expect(owner, comes(metadata.uid))
  }

  /** Waits for the pod to go, unless `remove` throws: then as that throws. */
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

  /** There is news of the pod. */
  observe(owner: string, { metadata }: PodLike): void {
    const shown = this.#shown(metadata)
    this.#expectations.seen(owner, comes(metadata.uid))
    if (shown?.uid !== metadata.uid || shown?.deletionTimestamp) this.#expectations.seen(owner, leaves(metadata.uid))
  }

  #shown({ namespace, name = '' }: ObjectMeta): ObjectMeta | undefined {
    return this.#pods.get({ namespace, name })?.metadata
  }
}

/** What is expected of a pod. */
const comes = (uid = ''): string => `+${uid}`
const leaves = (uid = ''): string => `-${uid}`
