import type { Pod, PodStatus } from '../../shared/api/types.ts'
import type { Clock, Timer } from '../../shared/clock/clock.ts'
import { nextWork, type PodWork, type WorkEvent, type WorkPhase } from '../ending/pod-state-machine.ts'
import type { WorkerOperation } from '../metrics/kubelet-metrics.ts'

export interface SyncOutcome {
  /** The pod has ended by itself. */
  ended: boolean
  /** Look again then, if nothing happens before. */
  againAtMs?: number
}
export interface PodWorkerOptions {
  clock: Clock
  /** Keeps a pod as its spec wants it. The signal aborts when it has to end. */
  syncPod(pod: Pod, signal: AbortSignal): Promise<SyncOutcome>
  /** Stops its containers. `graceSeconds` says how long they have as of now: it may be shortened meanwhile. */
  syncTerminatingPod(pod: Pod, work: PodWork, graceSeconds: () => number): Promise<void>
  /** Cleans up after them. */
  syncTerminatedPod(pod: Pod): Promise<void>
  /**
   * Runs when nothing of the pod is left to do. `removed` says that its object in the API is gone as well; `before` is
   * the status that the object had when the containers began to stop.
   */
  onFinished(pod: Pod, end: { removed: boolean; before: PodStatus | undefined }): void
  /** A pod whose containers are being stopped has less time than was said. */
  onGraceShortened?(pod: Pod, graceSeconds: number): void
  onError(error: unknown, pod: Pod): void
  /** Runs when the cause that woke a worker is handled, with the seconds since the cause arrived. */
  onWorked?(operation: WorkerOperation, seconds: number): void
  isClosed(): boolean
  random?(): number
}

const RETRY_MS = 10_000
const RESYNC_MS = 60_000
/** The reason of an aborted sync. It is made once: each new error would record a stack. */
const mustEnd = new Error('the pod has to end')
/** Retries and resyncs are spread by up to half. */
const SPREAD = 0.5

/** The mailbox of one pod: what happens to it happens one after another. */
export class PodWorker {
  readonly #options: PodWorkerOptions
  readonly #cancel = new AbortController()
  readonly #stopped = Promise.withResolvers<void>()
  readonly #finished = Promise.withResolvers<void>()
  #pod: Pod
  #work: PodWork
  #removed = false
  #before: PodStatus | undefined
  #pending = false
  #busy = false
  /** The first thing that woke it and is not dealt with. */
  #woken: { operation: WorkerOperation; atMs: number } | undefined
  #timer: Timer | undefined

  /** `event`: the first that is known of the pod. */
  constructor(options: PodWorkerOptions, pod: Pod, event: WorkEvent) {
    this.#options = options
    this.#pod = pod
    this.#work = nextWork(undefined, event)
    this.#cancelSync()
  }

  /** The newest object known. */
  get pod(): Pod {
    return this.#pod
  }

  get phase(): WorkPhase {
    return this.#work.phase
  }

  /** Resolves when the pod's containers are gone. */
  get stopped(): Promise<void> {
    return this.#stopped.promise
  }

  /** Resolves when nothing is left to do for the pod. */
  get finished(): Promise<void> {
    return this.#finished.promise
  }

  apply(pod: Pod, event: WorkEvent): void {
    const before = this.#work
    this.#pod = pod
    this.#work = nextWork(before, event)
    const { graceSeconds } = this.#work
    if (before.phase === 'terminating' && graceSeconds < before.graceSeconds) {
      this.#options.onGraceShortened?.(pod, graceSeconds)
    }
    this.#cancelSync()
  }

  /** The object is gone from the API: it ends, and is forgotten. */
  remove(): void {
    this.#removed = true
    this.wake('kill')
  }

  /** Known from now on, but no reason to act. */
  observe(pod: Pod): void {
    this.#pod = pod
  }

  wake(operation: WorkerOperation = 'sync'): void {
    const { clock, isClosed } = this.#options
    this.#pending = true
    this.#woken ??= { operation, atMs: clock.monotonic() }
    if (this.#busy || isClosed()) return
    this.#busy = true
    void this.#run().finally(() => {
      this.#busy = false
      // A wake-up that came in the last step.
      if (this.#pending) this.wake(this.#woken?.operation)
    })
  }

  /** Never wakes by itself any more. */
  close(): void {
    this.#timer?.cancel()
  }

  #cancelSync(): void {
    if (this.#work.phase !== 'sync') this.#cancel.abort(mustEnd)
  }

  async #run(): Promise<void> {
    const { clock, isClosed, onError, onWorked, random = Math.random } = this.#options
    while (this.#pending && !isClosed()) {
      this.#pending = false
      this.#timer?.cancel()
      const woken = this.#woken
      this.#woken = undefined
      try {
        await this.#step()
        if (woken) onWorked?.(woken.operation, (clock.monotonic() - woken.atMs) / 1000)
      } catch (error) {
        onError(error, this.#pod)
        this.#again(clock.now() + RETRY_MS * (1 + SPREAD * random()))
      }
    }
  }

  async #step(): Promise<void> {
    const pod = this.#pod
    const work = this.#work
    switch (work.phase) {
      case 'sync':
        this.#synced(await this.#options.syncPod(pod, this.#cancel.signal))
        return
      case 'terminating':
        this.#before ??= pod.status
        await this.#options.syncTerminatingPod(pod, work, () => this.#work.graceSeconds)
        this.#proceed({ type: 'stopped' }, 'terminated')
        this.#stopped.resolve()
        return
      case 'terminated':
        await this.#options.syncTerminatedPod(pod)
        this.#proceed({ type: 'cleaned' })
        return
      case 'finished':
        this.#stopped.resolve()
        this.#options.onFinished(pod, { removed: this.#removed, before: this.#before ?? pod.status })
        this.#finished.resolve()
    }
  }

  #synced({ ended, againAtMs }: SyncOutcome): void {
    const { clock, random = Math.random } = this.#options
    const resyncAtMs = clock.now() + RESYNC_MS * (1 + SPREAD * random())
    this.#again(Math.min(againAtMs ?? resyncAtMs, resyncAtMs))
    if (ended) this.#proceed({ type: 'ended', pod: this.#pod })
  }

  #proceed(event: WorkEvent, operation?: WorkerOperation): void {
    if (operation) this.#woken = { operation, atMs: this.#options.clock.monotonic() }
    this.#work = nextWork(this.#work, event)
    this.#pending = true
  }

  #again(atMs: number): void {
    if (this.phase === 'finished') return
    const { clock } = this.#options
    this.#timer?.cancel()
    this.#timer = clock.setTimer(atMs - clock.now(), () => this.wake(), { background: true })
  }
}
