import type { Pod, PodStatus } from '../../shared/api/types.ts'
import { withinLimit } from '../../shared/clock/within-limit.ts'
import type { ActionHandler } from '../actions/action.ts'
import { createHookRunner, type HookRunner } from '../actions/hook-runner.ts'
import { ContainerStarter } from '../containers/container-starter.ts'
import { ContainerSurroundings, type ContainerSurroundingsOptions } from '../containers/container-surroundings.ts'
import { ImagePuller } from '../containers/image-puller.ts'
import { PortConflicts } from '../containers/port-conflicts.ts'
import { PullSecrets } from '../containers/pull-secrets.ts'
import { containerLimits, podLimits } from '../containers/resource-limits.ts'
import { createRestartBackoff, type RestartBackoff, type RestartBackoffOptions } from '../containers/restart-backoff.ts'
import { createTerminationMessages } from '../containers/termination-message.ts'
import { PodEndings, type PodEndingsOptions } from '../ending/pod-endings.ts'
import { createSyncTerminatedPod } from '../ending/sync-terminated-pod.ts'
import { createSyncTerminatingPod } from '../ending/sync-terminating-pod.ts'
import type { ProbeResult, ProbeType } from '../pod/probe-types.ts'
import { Prober } from '../prober/prober.ts'
import type { PodLimits } from '../runtime/container-runtime.ts'
import { createRuntimeCache, type RuntimeCache } from '../runtime/runtime-cache.ts'
import { isUp, type RuntimePod } from '../runtime/runtime-pod.ts'
import { readinessDiffers } from '../status/conditions.ts'
import { nextRestartCount } from '../status/container-statuses.ts'
import { statusAtEnd } from '../status/end-of-life.ts'
import { createPodStatuses, type PodStatuses } from '../status/pod-statuses.ts'
import { createReasonCache, type ReasonCache } from '../status/reason-cache.ts'
import type { Resources } from '../status/resize-view.ts'
import { StatusManager } from '../status/status-manager.ts'
import type { Volume } from '../volumes/volume-payload.ts'
import { createPodCleanup, type PodCleanup } from './pod-cleanup.ts'
import { PodResizes, type Shortage } from './pod-resizes.ts'
import type { PodHandler } from './pod-source.ts'
import { PodSync } from './pod-sync.ts'
import { PodWorkers } from './pod-workers.ts'

export interface PodLifecycleOptions extends ContainerSurroundingsOptions, Omit<PodEndingsOptions, 'cache' | 'hooks'> {
  actions: ActionHandler
  /** Reports only the last of several statuses in quick succession, and records no end. Off by default. */
  brief?: boolean
  /** A DELETE that leaves less time also shortens a kill that has begun. */
  shortenRunningKills: boolean
  /** Returns a number from 0 to 1, which spreads what would otherwise happen everywhere at once. */
  random?(): number
  /** Containers that ask for what the node cannot give are refused. Off by default. */
  strict?: boolean
  /** Bounds the processes and threads of a pod, where limits are kept. Default: no bound. */
  podPidsLimit?: number
  /** Says why no pod can start that needs an address of its own. */
  networkProblem(): string | undefined
  /** The newest object known of a pod. */
  latest(pod: Pod): Pod | undefined
  /** Keeps what a running pod asks for now, if the node has it. */
  makeRoom(pod: Pod): Shortage | undefined
  /** Sets the wait of containers that end repeatedly; by default 10 s, doubled up to 300 s. */
  crashLoopBackOff?: RestartBackoffOptions
  /** Runs when nothing of the pod is left on the node. */
  onOver(podUid: string): void
  warn(error: unknown, what: string, pod?: Pod): void
}

/** Limits how long the last records are written when the kubelet stops. */
const FLUSH_MS = 2_000

/** Holds what exists before any pod does. */
export interface PodsGround {
  cache: RuntimeCache
  surroundings: ContainerSurroundings
  /** The runtime's records when this kubelet began. */
  found: Map<string, RuntimePod>
}

export async function podsGround(options: ContainerSurroundingsOptions): Promise<PodsGround> {
  const cache = createRuntimeCache(options.runtime, createTerminationMessages())
  const surroundings = new ContainerSurroundings(options)
  return { cache, surroundings, found: await cache.pods() }
}

/** Turns pods that the node has admitted into processes and a status. */
export class PodLifecycle implements PodHandler {
  readonly workers: PodWorkers
  readonly statuses: StatusManager
  readonly #options: PodLifecycleOptions
  readonly #cache: RuntimeCache
  readonly #surroundings: ContainerSurroundings
  readonly #found: Map<string, RuntimePod>
  readonly #reasons: ReasonCache = createReasonCache()
  readonly #prober: Prober
  readonly #resizes: PodResizes
  readonly #podStatuses: PodStatuses
  readonly #endings: PodEndings
  readonly #images: ImagePuller
  readonly #backoff: RestartBackoff
  readonly #portConflicts: PortConflicts | undefined
  readonly #cleanup: PodCleanup
  readonly #stopListening: () => void

  constructor(options: PodLifecycleOptions, { cache, surroundings, found }: PodsGround) {
    const { client, clock, events, metrics, runtime, random, rootDir, podFiles, warn } = options
    this.#options = options
    this.#cache = cache
    this.#surroundings = surroundings
    this.#found = found
    // The workers and what they call know each other: the parts tell their news to methods of this object.
    this.statuses = new StatusManager({
      client,
      clock,
      latest: options.latest,
      mayHaveRunningContainers: (uid) => this.workers.mayHaveRunningContainers(uid),
      isFinished: (uid) => this.workers.isFinished(uid),
      onError: (error, pod) => warn(error, 'a status could not be written', pod),
      brief: options.brief,
    })
    this.#prober = new Prober({
      runtime,
      clock,
      events,
      actions: options.actions,
      metrics: metrics.probes,
      random,
      status: (uid) => this.statuses.get(uid),
      isEnding: (uid) => this.workers.isTerminating(uid),
      onChange: (pod, type, result) => this.#probeChanged(pod, type, result),
    })
    this.#resizes = new PodResizes({
      events,
      makeRoom: options.makeRoom,
      apply: (pod, resources) => applied(options, pod, resources),
      told: (pod) => this.statuses.get(uidOf(pod)) ?? pod.status,
    })
    this.#podStatuses = createPodStatuses({
      clock,
      events,
      manager: this.statuses,
      reasons: this.#reasons,
      probes: (pod) => this.#prober.results(pod),
      resizes: (pod) => this.#resizes.view(pod),
      onTold: (pod, status) => this.#prober.statusTold(pod, status),
      hostIP: options.nodeIP,
      featureGates: options.featureGates,
    })
    this.#portConflicts = podFiles ? new PortConflicts({ runtime, events }) : undefined
    this.#backoff = createRestartBackoff(options.crashLoopBackOff)
    this.#images = new ImagePuller({ runtime, clock, events, pullSecrets: new PullSecrets({ client, events }) })
    const hooks = createHookRunner(runtime, options.actions, clock)
    this.#endings = new PodEndings({ ...options, cache, hooks })
    this.workers = this.#createWorkers(hooks)
    this.#cleanup = createPodCleanup({
      runtime,
      cache,
      rootDir,
      podFiles,
      endOrphan: (pod, running) => this.#endings.endOrphan(pod, running),
      onError: (error, pod) => warn(error, 'what was left of a pod could not be removed', pod),
    })
    this.#stopListening = runtime.onEvent(({ podUid }) => this.workers.sync(podUid))
    runtime.onImagesChanged?.(() => this.#imagesChanged())
  }

  /** A pod of which something ran when this kubelet began goes on. */
  onAdd(pod: Pod): void {
    this.workers.update(pod, { running: isUp(this.#found.get(uidOf(pod))) })
  }

  onUpdate(pod: Pod): void {
    this.workers.update(pod)
  }

  onReconcile(pod: Pod): void {
    this.workers.observe(pod)
    this.statuses.reconcile(pod)
    if (readinessDiffers(pod)) this.workers.sync(uidOf(pod))
  }

  onRemove(pod: Pod): void {
    this.workers.remove(pod)
  }

  /** Resolves when all is known that starting a container needs. */
  synced(): Promise<void> {
    return this.#surroundings.synced()
  }

  /** Ends what runs on this node of pods that are not among `known`; the API has forgotten them. */
  endOrphans(known: Set<string>): Promise<void> {
    return this.#cleanup.endOrphans(this.#found, known)
  }

  /** The node does not take the pod. */
  rejected(pod: Pod, status: PodStatus): void {
    this.statuses.set(pod, status)
    this.#endings.rejected(pod, status)
  }

  volumePath(pod: Pod, volume: Volume): string {
    return this.#surroundings.volumePath(pod, volume)
  }

  /** Resolves when all that is to be said of pods so far, their statuses and the records of their ends, is written. */
  async flush(): Promise<void> {
    // The record of a pod follows the cleanup after its containers.
    await this.workers.settled()
    await Promise.all([this.statuses.flush(), this.#endings.flush()])
  }

  async close(): Promise<void> {
    this.#stopListening()
    this.#prober.close()
    this.workers.close()
    await withinLimit(this.#endings.flush(), FLUSH_MS, this.#options.clock.machine)
    await this.#surroundings.close()
  }

  #createWorkers(hooks: HookRunner): PodWorkers {
    const { clock, featureGates, metrics, random, shortenRunningKills, warn } = this.#options
    const cache = this.#cache
    const statuses = this.#podStatuses
    const { killPod } = this.#endings
    const removeProbes = (pod: Pod): void => this.#prober.remove(uidOf(pod))
    const running = this.#createPodSync(hooks)
    return new PodWorkers({
      clock,
      random,
      onWorked: (operation, seconds) => metrics.worked(operation, seconds),
      syncPod: (pod, signal) => running.sync(pod, signal),
      syncTerminatingPod: createSyncTerminatingPod({
        cache,
        statuses,
        killPod,
        tellReason: (pod, reason) => this.statuses.tellReason(pod, reason),
        endsIdle: (end) => this.#endings.endsIdle(end),
        featureGates,
        stopKillingProbes: (pod) => this.#prober.stopKilling(pod),
        removeProbes,
      }),
      syncTerminatedPod: createSyncTerminatedPod({ cache, statuses, removeProbes }),
      onFinished: (pod, end) => this.#finished(pod, end),
      ...(shortenRunningKills && {
        onGraceShortened: (pod: Pod, seconds: number) => this.#endings.shorten(uidOf(pod), seconds),
      }),
      onError: (error, pod) => warn(error, 'a pod could not be synced', pod),
    })
  }

  #createPodSync(hooks: HookRunner): PodSync {
    const { featureGates, random, runtime, clock, events, metrics, networkProblem, rootDir, podFiles } = this.#options
    const { machine, strict = false } = this.#options
    const { killer, killPod, restartAll } = this.#endings
    const surroundings = this.#surroundings
    const starter = new ContainerStarter({
      runtime,
      clock,
      events,
      hooks,
      backoff: this.#backoff,
      ensureImage: this.#images.ensure,
      killer,
      surroundings,
      nextAttempt: (pod, name) => nextRestartCount(this.statuses.get(uidOf(pod)), name),
      resources: (pod, name) => this.#resizes.view(pod).allocated(name),
      onStarted: (type) => metrics.containerStarted(type),
      rootDir,
      machineBytes: machine.memoryBytes,
      podFiles,
      featureGates,
      strict,
    })
    return new PodSync({
      random,
      runtime,
      cache: this.#cache,
      clock,
      events,
      statuses: this.#podStatuses,
      reasons: this.#reasons,
      verdicts: this.#prober.verdicts,
      killPod,
      killer,
      starter,
      resizes: this.#resizes,
      portConflicts: this.#portConflicts,
      limitsOf: (pod) => limitsOf(this.#options, pod, (name) => this.#resizes.view(pod).allocated(name)),
      networkProblem,
      restartAll,
      mountVolumes: (pod, signal) => surroundings.mountVolumes(pod, signal),
      addProbes: (pod) => this.#prober.add(pod),
      onSandbox: () => metrics.sandboxStarted(),
    })
  }

  #probeChanged(pod: Pod, type: ProbeType, result: ProbeResult): void {
    if (type !== 'liveness') this.#podStatuses.probesChanged(pod)
    else if (result !== 'failure') return
    this.workers.sync(uidOf(pod))
  }

  #imagesChanged(): void {
    this.#images.retryAll()
    this.workers.syncAll()
  }

  #finished(pod: Pod, { removed, before }: { removed: boolean; before: PodStatus | undefined }): void {
    const uid = uidOf(pod)
    this.#options.onOver(uid)
    const status = this.statuses.get(uid)
    this.#endings.podEnded(uid, { status: status && statusAtEnd(pod, { status, before }), removed })
    if (removed) {
      void this.#forget(pod).catch((error) => this.#options.warn(error, 'a pod could not be cleaned up', pod))
    } else this.statuses.terminate(pod, before)
  }

  async #forget(pod: Pod): Promise<void> {
    const uid = uidOf(pod)
    this.statuses.forget(uid)
    this.#reasons.forget(uid)
    this.#resizes.forget(uid)
    this.#portConflicts?.forget(uid)
    this.#surroundings.forget(uid)
    this.#backoff.forget(`${uid}_`)
    this.#images.forget(uid)
    await this.#cleanup.remove(pod)
  }
}

const uidOf = ({ metadata }: Pod): string => metadata.uid ?? ''

type Limiting = Pick<PodLifecycleOptions, 'podPidsLimit' | 'runtime'>

const limitsOf = (
  { podPidsLimit: pids, runtime }: Limiting,
  pod: Pod,
  resources: (container: string) => Resources,
): PodLimits | undefined => (runtime.capabilities().limits ? podLimits(pod, { pids, resources }) : undefined)

function applied(options: Limiting, pod: Pod, resources: (container: string) => Resources): string | undefined {
  const limits = limitsOf(options, pod, resources)
  if (!limits) return undefined
  const all = [...(pod.spec.initContainers ?? []), ...pod.spec.containers]
  try {
    options.runtime.resize?.(
      uidOf(pod),
      limits,
      new Map(all.map(({ name }) => [name, containerLimits(resources(name))])),
    )
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}
