import type { LostRequests } from '../../shared/api/termination.ts'
import type { Pod, PodStatus } from '../../shared/api/types.ts'
import type { Client } from '../../shared/client/client.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import type { FeatureGates } from '../../shared/config/feature-gates.ts'
import type { HookRunner } from '../actions/hook-runner.ts'
import type { EventRecorder } from '../events/event-recorder.ts'
import type { KubeletMetrics } from '../metrics/kubelet-metrics.ts'
import { goDuration } from '../pod/go-duration.ts'
import type { ContainerRecord, ContainerRuntime } from '../runtime/container-runtime.ts'
import type { RuntimeCache } from '../runtime/runtime-cache.ts'
import { ContainerKiller } from './container-killer.ts'
import type { IdleEnd } from './kill.ts'
import { createKillPod, type KillPod } from './kill-pod.ts'
import { noTerminations } from './record/no-terminations.ts'
import { ApiTerminationRecorder, type PodEnd, type TerminationRecorder } from './record/termination-recorder.ts'
import { createRestartAll, type RestartAll } from './restart-all.ts'
import { RunningGraces } from './running-grace.ts'

export interface PodEndingsOptions {
  client: Client
  clock: Clock
  events: EventRecorder
  metrics: KubeletMetrics
  runtime: ContainerRuntime
  cache: RuntimeCache
  hooks: HookRunner
  nodeName: string
  /** Programs run, which need a moment to set their signal handlers. */
  podFiles: boolean
  /** No end is recorded. */
  brief?: boolean
  featureGates: FeatureGates
  /** Resolves to the connections that Services lost at a pod that has ended; default: none is counted. */
  lostAt?(pod: Pod): Promise<LostRequests[]>
  info(fields: object, message: string): void
  warn(error: unknown, what: string, pod?: Pod): void
  /** A pod that validation should have refused. */
  malformed(what: string, pod: Pod): void
}

/** A program has this long to set its signal handlers, because a real runtime takes about as long for its own part. */
const HANDLERS_MS = 30

/**
 * The door of this folder: kills containers and pods, and records how they ended. `README.md` tells the way of a
 * deletion through it.
 */
export class PodEndings {
  readonly killer: ContainerKiller
  readonly killPod: KillPod
  readonly restartAll: RestartAll
  readonly #options: Pick<PodEndingsOptions, 'events' | 'runtime'>
  readonly #graces: RunningGraces
  readonly #terminations: TerminationRecorder

  constructor(options: PodEndingsOptions) {
    const { clock, events, featureGates, hooks, metrics, runtime, warn } = options
    this.#options = options
    this.#graces = new RunningGraces(clock)
    this.#terminations = options.brief ? noTerminations : recorder(options)
    this.killer = new ContainerKiller({
      runtime,
      clock,
      events,
      hooks,
      terminations: this.#terminations,
      graces: this.#graces,
      featureGates,
      onProbeKill: (type, ownGrace) => metrics.probeKilled(type, ownGrace),
      handlersMs: options.podFiles ? HANDLERS_MS : 0,
      warn: (message, pod) => warn(undefined, message, pod),
      error: options.malformed,
    })
    this.killPod = createKillPod(runtime, clock, this.killer)
    this.restartAll = createRestartAll({ runtime, killer: this.killer })
  }

  /** The containers of a pod that are being stopped have had `seconds` from the beginning, and no more. */
  shorten(podUid: string, seconds: number): void {
    this.#graces.shorten(podUid, seconds)
  }

  /** Notes the end of a pod in which no container runs. */
  endsIdle(end: IdleEnd): void {
    this.#terminations.endsIdle(end)
  }

  /** Records the end of a pod of which nothing is left to do. */
  podEnded(podUid: string, end: PodEnd): void {
    this.#terminations.podEnded(podUid, end)
  }

  /** Ends them at once: hooks and grace belonged to the pod, which is gone. */
  async endOrphan(pod: Pod, running: ContainerRecord[]): Promise<void> {
    const { events, runtime } = this.#options
    await Promise.all(
      running.map(async (record) => {
        const { id, name } = record
        events.podEvent(pod, name, 'Normal', 'Killing', `Stopping container ${name}`)
        const journal = this.#terminations.killBegins({ pod, record, graceSeconds: 0, ends: 'pod', cause: 'Orphaned' })
        const onSignal = journal.signalled.bind(journal)
        await runtime
          .stopContainer(id, { signal: 'SIGKILL', gracePeriodMs: 0, onSignal })
          .finally(() => journal.ended())
      }),
    )
    this.podEnded(pod.metadata.uid ?? '', { status: { phase: 'Failed' } })
  }

  /** The node does not take the pod. */
  rejected(pod: Pod, status: PodStatus): void {
    this.#terminations.endsIdle({ pod, cause: 'Rejected', hasRun: false })
    this.#terminations.podEnded(pod.metadata.uid ?? '', { status })
  }

  /** Resolves when all records so far are written or given up. */
  flush(): Promise<void> {
    return this.#terminations.flush()
  }
}

const recorder = ({
  client,
  clock,
  nodeName,
  metrics,
  cache,
  lostAt,
  info,
  warn,
}: PodEndingsOptions): TerminationRecorder =>
  new ApiTerminationRecorder({
    client,
    clock,
    nodeName,
    lostAt,
    onRecord: (facts) => metrics.terminated(facts),
    containers: async (uid) => (await cache.pod(uid)).containers,
    onError: (error, pod) => warn(error, 'the record of a termination was lost', pod),
    onMissing: ({ message }, againInMs) =>
      info(
        { answer: message, retryAfter: goDuration(againInMs) },
        'the API server does not take terminations.kubestage.dev: how pods end is not recorded',
      ),
  })
