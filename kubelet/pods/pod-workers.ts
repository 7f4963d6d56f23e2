import type { Pod } from '../../shared/api/types.ts'
import type { Clock, Timer } from '../../shared/clock/clock.ts'
import type { WorkerOperation } from '../metrics/kubelet-metrics.ts'
import { type KillOptions, nextWork, type PodWork, type WorkEvent } from './pod-state-machine.ts'

/** One mailbox a pod UID: what happens to one pod happens one after another, pods do not wait for each other. */
export interface PodWorkers {
  /** The pod is there, or has changed. */
  update(pod: Pod, options?: { running: boolean }): void
  /** Only what others report of it has changed: known from now on, but no reason to act. */
  observe(pod: Pod): void
  /** The object is gone from the API; what runs of it is ended. */
  remove(pod: Pod): void
  /** Something of the pod changed on the node: look again. */
  sync(podUid: string): void
  /** Something changed that any pod may have waited for. */
  syncAll(): void
  /** Ends a pod for a reason of the node. Resolves when its containers are gone. */
  kill(pod: Pod, options: KillOptions): Promise<void>
  /** False for a pod of which nothing can run any more. */
  mayHaveRunningContainers(podUid: string): boolean
  isTerminating(podUid: string): boolean
  isFinished(podUid: string): boolean
  /** Resolves when nothing is left to do for the pods whose containers are gone. */
  settled(): Promise<void>
  /** Stops looking after pods; what runs goes on, also a kill that has begun. */
  close(): void
}

export interface SyncOutcome {
  /** The pod has ended by itself. */
  ended: boolean
  /** Look again then, if nothing happens before. */
  againAtMs?: number
}
export interface PodWorkersOptions {
  clock: Clock
  /** Keeps a pod as its spec wants it. The signal aborts when it has to end. */
  syncPod(pod: Pod, signal: AbortSignal): Promise<SyncOutcome>
  /** Stops its containers. */
  syncTerminatingPod(pod: Pod, work: PodWork): Promise<void>
  /** Cleans up after them. */
  syncTerminatedPod(pod: Pod): Promise<void>
  /** Nothing of the pod is left to do. `removed`: nor is its object in the API. */
  onFinished(pod: Pod, removed: boolean): void
  /** A pod whose containers are being stopped has less time than was said. */
  onGraceShortened?(pod: Pod, graceSeconds: number): void
  onError(error: unknown, pod: Pod): void
  /** What woke a worker was dealt with, so many seconds after it came. */
  onWorked?(operation: WorkerOperation, seconds: number): void
  random?(): number
}

interface Worker {
  pod: Pod
  work: PodWork
  removed: boolean
  pending: boolean
  /** The first thing that woke it and is not dealt with. */
  woken?: { operation: WorkerOperation; atMs: number }
  busy: boolean
  cancel: AbortController
  timer?: Timer
  stopped: PromiseWithResolvers<void>
  finished: PromiseWithResolvers<void>
}

const RETRY_MS = 10_000
const RESYNC_MS = 60_000
/** Retries and resyncs are spread by up to half. */
const SPREAD = 0.5

export function createPodWorkers(options: PodWorkersOptions): PodWorkers {
  const { clock, random = Math.random } = options
  const workers = new Map<string, Worker>()
  let closed = false

  function apply(pod: Pod, event: WorkEvent): Worker {
    const uid = pod.metadata.uid ?? ''
    const known = workers.get(uid)
    const work = nextWork(known?.work, event)
    const worker: Worker = known ?? {
      pod,
      work,
      removed: false,
      pending: false,
      busy: false,
      cancel: new AbortController(),
      stopped: Promise.withResolvers(),
      finished: Promise.withResolvers(),
    }
    workers.set(uid, worker)
    const isShorter = known?.work.phase === 'terminating' && work.graceSeconds < known.work.graceSeconds
    worker.pod = pod
    worker.work = work
    if (isShorter) options.onGraceShortened?.(pod, work.graceSeconds)
    if (work.phase !== 'sync') worker.cancel.abort()
    return worker
  }

  function wake(worker: Worker, operation: WorkerOperation = 'sync'): void {
    worker.pending = true
    worker.woken ??= { operation, atMs: clock.monotonic() }
    if (worker.busy || closed) return
    worker.busy = true
    void work(worker).finally(() => {
      worker.busy = false
      // A wake-up that came in the last step.
      if (worker.pending) wake(worker, worker.woken?.operation)
    })
  }

  async function work(worker: Worker): Promise<void> {
    while (worker.pending && !closed) {
      worker.pending = false
      worker.timer?.cancel()
      const { woken } = worker
      worker.woken = undefined
      try {
        await step(worker)
        if (woken) options.onWorked?.(woken.operation, (clock.monotonic() - woken.atMs) / 1000)
      } catch (error) {
        options.onError(error, worker.pod)
        again(worker, clock.now() + RETRY_MS * (1 + SPREAD * random()))
      }
    }
  }

  async function step(worker: Worker): Promise<void> {
    const { pod, work } = worker
    switch (work.phase) {
      case 'sync': {
        const { ended, againAtMs } = await options.syncPod(pod, worker.cancel.signal)
        const resyncAtMs = clock.now() + RESYNC_MS * (1 + SPREAD * random())
        again(worker, Math.min(againAtMs ?? resyncAtMs, resyncAtMs))
        if (ended) proceed(worker, { type: 'ended', pod: worker.pod })
        return
      }
      case 'terminating':
        await options.syncTerminatingPod(pod, work)
        proceed(worker, { type: 'stopped' }, 'terminated')
        worker.stopped.resolve()
        return
      case 'terminated':
        await options.syncTerminatedPod(pod)
        proceed(worker, { type: 'cleaned' })
        return
      case 'finished':
        worker.stopped.resolve()
        options.onFinished(worker.pod, worker.removed)
        worker.finished.resolve()
        if (worker.removed) workers.delete(pod.metadata.uid ?? '')
    }
  }

  function proceed(worker: Worker, event: WorkEvent, operation?: WorkerOperation): void {
    if (operation) worker.woken = { operation, atMs: clock.monotonic() }
    worker.work = nextWork(worker.work, event)
    worker.pending = true
  }

  function again(worker: Worker, atMs: number): void {
    if (worker.work.phase === 'finished') return
    worker.timer?.cancel()
    worker.timer = clock.setTimer(atMs - clock.now(), () => wake(worker), { background: true })
  }

  const phaseOf = (podUid: string) => workers.get(podUid)?.work.phase
  return {
    update(pod, { running } = { running: false }) {
      const isNew = !workers.has(pod.metadata.uid ?? '')
      wake(apply(pod, { type: 'config', pod, running }), isNew ? 'create' : 'update')
    },
    observe(pod) {
      const worker = workers.get(pod.metadata.uid ?? '')
      if (worker) worker.pod = pod
    },
    remove(pod) {
      const worker = apply(pod, { type: 'removed', pod })
      worker.removed = true
      wake(worker, 'kill')
    },
    sync(podUid) {
      const worker = workers.get(podUid)
      if (worker && worker.work.phase === 'sync') wake(worker)
    },
    syncAll() {
      for (const worker of workers.values()) if (worker.work.phase === 'sync') wake(worker)
    },
    async kill(pod, killOptions) {
      // The kill may have been decided on an older state.
      const newest = workers.get(pod.metadata.uid ?? '')?.pod ?? pod
      const worker = apply(newest, { type: 'kill', pod: newest, options: killOptions })
      wake(worker, 'kill')
      await worker.stopped.promise
    },
    mayHaveRunningContainers(podUid) {
      const phase = phaseOf(podUid)
      return phase === 'sync' || phase === 'terminating'
    },
    isTerminating: (podUid) => phaseOf(podUid) === 'terminating',
    isFinished: (podUid) => phaseOf(podUid) === 'finished',
    async settled() {
      const ended = [...workers.values()].filter(
        ({ work: { phase } }) => phase === 'terminated' || phase === 'finished',
      )
      await Promise.all(ended.map(({ finished }) => finished.promise))
    },
    close() {
      closed = true
      for (const worker of workers.values()) worker.timer?.cancel()
    },
  }
}
