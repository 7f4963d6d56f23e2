import type { Pod } from '../../shared/api/types.ts'
import type { KillOptions, WorkEvent, WorkPhase } from '../ending/pod-state-machine.ts'
import { PodWorker, type PodWorkerOptions } from './pod-worker.ts'

export type PodWorkersOptions = Omit<PodWorkerOptions, 'isClosed'>

/**
 * Runs one worker for each pod UID: changes of one pod are handled one after another, and pods do not wait for each
 * other.
 */
export class PodWorkers {
  readonly #options: PodWorkerOptions
  readonly #workers = new Map<string, PodWorker>()
  #isClosed = false

  constructor(options: PodWorkersOptions) {
    this.#options = {
      ...options,
      isClosed: () => this.#isClosed,
      onFinished: (pod, end) => {
        options.onFinished(pod, end)
        if (end.removed) this.#workers.delete(uidOf(pod))
      },
    }
  }

  /** The pod is there, or has changed. */
  update(pod: Pod, { running } = { running: false }): void {
    const isNew = !this.#workers.has(uidOf(pod))
    this.#apply(pod, { type: 'config', pod, running }).wake(isNew ? 'create' : 'update')
  }

  /** Notes a change of the parts that others report. The worker knows them from now on, but does not wake. */
  observe(pod: Pod): void {
    this.#workers.get(uidOf(pod))?.observe(pod)
  }

  /** The object is gone from the API; what runs of it is ended. */
  remove(pod: Pod): void {
    this.#apply(pod, { type: 'removed', pod }).remove()
  }

  /** Looks at a pod again, because something of it changed on the node. */
  sync(podUid: string): void {
    const worker = this.#workers.get(podUid)
    if (worker?.phase === 'sync') worker.wake()
  }

  /** Looks at all pods again, because something changed that any may have waited for. */
  syncAll(): void {
    for (const worker of this.#workers.values()) if (worker.phase === 'sync') worker.wake()
  }

  /** Ends a pod for a reason of the node. Resolves when its containers are gone. */
  async kill(pod: Pod, options: KillOptions): Promise<void> {
    // The kill may have been decided on an older state.
    const newest = this.#workers.get(uidOf(pod))?.pod ?? pod
    const worker = this.#apply(newest, { type: 'kill', pod: newest, options })
    worker.wake('kill')
    await worker.stopped
  }

  /** Returns whether containers of the pod may run; false if nothing of it can run any more. */
  mayHaveRunningContainers(podUid: string): boolean {
    const phase = this.#phaseOf(podUid)
    return phase === 'sync' || phase === 'terminating'
  }

  isTerminating(podUid: string): boolean {
    return this.#phaseOf(podUid) === 'terminating'
  }

  isFinished(podUid: string): boolean {
    return this.#phaseOf(podUid) === 'finished'
  }

  /** Resolves when nothing is left to do for the pods whose containers are gone. */
  async settled(): Promise<void> {
    const ended = [...this.#workers.values()].filter(({ phase }) => phase === 'terminated' || phase === 'finished')
    await Promise.all(ended.map(({ finished }) => finished))
  }

  /** Stops looking after pods; what runs goes on, also a kill that has begun. */
  close(): void {
    this.#isClosed = true
    for (const worker of this.#workers.values()) worker.close()
  }

  #apply(pod: Pod, event: WorkEvent): PodWorker {
    const known = this.#workers.get(uidOf(pod))
    if (known) {
      known.apply(pod, event)
      return known
    }
    const worker = new PodWorker(this.#options, pod, event)
    this.#workers.set(uidOf(pod), worker)
    return worker
  }

  #phaseOf(podUid: string): WorkPhase | undefined {
    return this.#workers.get(podUid)?.phase
  }
}

const uidOf = ({ metadata }: Pod): string => metadata.uid ?? ''
