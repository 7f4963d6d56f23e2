import { type HostPort, hostPortsOf } from '../../shared/api/pods/host-ports.ts'
import { isTerminalPhase } from '../../shared/api/pods/pod-phase.ts'
import { sysctlName } from '../../shared/api/pods/safe-sysctls.ts'
import type { Container, Pod } from '../../shared/api/types.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import type { ContainerStarter, StartRequest } from '../containers/container-starter.ts'
import { hostnameOf } from '../containers/hosts-file.ts'
import type { PortConflicts } from '../containers/port-conflicts.ts'
import { StartFailure } from '../containers/start-failure.ts'
import type { ContainerKiller } from '../ending/container-killer.ts'
import { containerGraceSeconds } from '../ending/grace-period.ts'
import type { KillPod } from '../ending/kill-pod.ts'
import type { RestartAll } from '../ending/restart-all.ts'
import type { EventRecorder } from '../events/event-recorder.ts'
import { isSidecar } from '../pod/container-kinds.ts'
import type { ProbeVerdicts } from '../prober/probe-verdicts.ts'
import type { ContainerRecord, ContainerRuntime, PodLimits, Sandbox, Sysctl } from '../runtime/container-runtime.ts'
import type { RuntimeCache } from '../runtime/runtime-cache.ts'
import { type RuntimePod, readySandbox } from '../runtime/runtime-pod.ts'
import type { PodStatuses } from '../status/pod-statuses.ts'
import type { ReasonCache } from '../status/reason-cache.ts'
import { computePodActions } from './pod-actions.ts'
import type { PodActions } from './pod-needs.ts'
import type { PodResizes } from './pod-resizes.ts'
import type { SyncOutcome } from './pod-worker.ts'

export interface PodSyncOptions {
  runtime: ContainerRuntime
  cache: RuntimeCache
  clock: Clock
  events: EventRecorder
  statuses: PodStatuses
  reasons: ReasonCache
  verdicts: ProbeVerdicts
  killPod: KillPod
  killer: ContainerKiller
  starter: ContainerStarter
  restartAll: RestartAll
  resizes: PodResizes
  /** Finds conflicts of ports; absent if no program listens. */
  portConflicts?: PortConflicts
  /** Returns what the pod may use; undefined if it may use anything. */
  limitsOf(pod: Pod): PodLimits | undefined
  /** Says why no pod can start that needs an address of its own. */
  networkProblem(): string | undefined
  /** Resolves when the pod's volumes stand; rejects when the signal aborts. */
  mountVolumes(pod: Pod, signal: AbortSignal): Promise<void>
  addProbes(pod: Pod): void
  /** A sandbox is about to be started. */
  onSandbox?(): void
  random?(): number
}

const RETRY_MS = 10_000
const SPREAD = 0.5
const RELIST_MS = 1_000

const againNow = new StartFailure({ reason: '', message: '', retryAtMs: 0 })

interface Starts {
  failures: StartFailure[]
  /** The last one first. */
  started: ContainerRecord[]
}

/**
 * Runs one sync of a pod that shall run: it writes the status, computes the needed actions and performs them. The next
 * sync reports their effects.
 */
export class PodSync {
  readonly #options: PodSyncOptions

  constructor(options: PodSyncOptions) {
    this.#options = options
  }

  async sync(pod: Pod, signal: AbortSignal): Promise<SyncOutcome> {
    const { cache, clock, events, portConflicts, resizes, statuses } = this.#options
    const before = await cache.pod(uidOf(pod))
    resizes.plan(pod)
    const status = statuses.write(pod, before)
    await portConflicts?.look(pod, before)
    if (isTerminalPhase(status.phase)) return { ended: true }
    const networkProblem = pod.spec.hostNetwork || readySandbox(before) ? undefined : this.#options.networkProblem()
    if (networkProblem) {
      events.podEvent(pod, undefined, 'Warning', 'NetworkNotReady', `network is not ready: ${networkProblem}`)
      return { ended: false, againAtMs: clock.now() + RETRY_MS }
    }
    try {
      await this.#options.mountVolumes(pod, signal)
    } catch (error) {
      if (signal.aborted) return { ended: false }
      throw error
    }
    this.#options.addProbes(pod)
    return { ended: false, againAtMs: await this.#act(pod, before) }
  }

  /** Does what the pod needs now. Resolves with the time of the next round, where it has one. */
  async #act(pod: Pod, before: RuntimePod): Promise<number | undefined> {
    const { cache, clock, events, killer, killPod, reasons, resizes, restartAll, statuses, verdicts } = this.#options
    const actions = computePodActions(pod, before, {
      ...verdicts,
      mustResize: (container) => resizes.needsRestart(pod, container),
    })
    if (actions.restartAll) {
      await restartAll(pod, before, actions.restartAll)
      reasons.forget(uidOf(pod))
      statuses.allRemoved(pod)
      return clock.now()
    }
    if (actions.killPod) {
      if (actions.createSandbox && before.sandboxes.length > 0) {
        const message = 'Pod sandbox changed, it will be killed and re-created.'
        events.podEvent(pod, undefined, 'Normal', 'SandboxChanged', message)
      }
      if (!actions.createSandbox) {
        // Upstream gives the pod's grace to all containers here, whatever their probes say.
        const graceSeconds = containerGraceSeconds(pod, undefined, 'Unknown')
        await killPod(pod, before, { ends: 'pod', graceSeconds, causes: actions.causes })
        return clock.now()
      }
      await killPod(pod, before, { ends: 'container', cause: 'SandboxChanged' })
    }
    const podIP = before.sandboxes[0]?.ip ?? ''
    for (const kill of actions.containersToKill) await killer.kill({ ...kill, ends: 'container', pod, podIP })
    const standing = readySandbox(before)
    const sandbox = standing ?? (await this.#newSandbox(pod, before))
    const { failures, started } = await this.#startAll(pod, before, sandbox, actions)
    await this.#tellStarted(pod, started)
    if (resizes.complete(pod)) statuses.write(pod, await cache.pod(uidOf(pod)))
    // Upstream lists containers once a second: one that started causes one more sync, which shows that a pull failed.
    const isSeenLater = failures.some(({ reason }) => reason === 'ErrImagePull') && this.#startedJustNow(before)
    return this.#whenAgain(pod, failures, !standing || isSeenLater)
  }

  #startedJustNow({ containers }: RuntimePod): boolean {
    const sinceMs = this.#options.clock.now() - RELIST_MS
    return containers.some(({ state, startedAtMs }) => state === 'running' && startedAtMs > sinceMs)
  }

  async #newSandbox(pod: Pod, runtimePod: RuntimePod): Promise<Sandbox> {
    const { events, onSandbox, runtime, statuses } = this.#options
    for (const id of exitedInitContainers(pod, runtimePod)) await runtime.removeContainer(id)
    for (const id of emptySandboxes(runtimePod)) await runtime.removeSandbox(id)
    try {
      onSandbox?.()
      const sandbox = await runtime.startSandbox({
        podUid: uidOf(pod),
        namespace: pod.metadata.namespace ?? '',
        name: pod.metadata.name ?? '',
        hostNetwork: pod.spec.hostNetwork ?? false,
        hostname: hostnameOf(pod),
        shareProcessNamespace: pod.spec.shareProcessNamespace ?? false,
        hostPID: pod.spec.hostPID ?? false,
        hostIPC: pod.spec.hostIPC ?? false,
        ...(pod.spec.hostUsers === false && { ownUsers: true }),
        ...sysctlsOf(pod),
        ...servedHostPorts(pod),
        limits: this.#options.limitsOf(pod),
        annotations: {},
      })
      statuses.sandboxReady(pod)
      return sandbox
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      events.podEvent(pod, undefined, 'Warning', 'FailedCreatePodSandBox', `Failed to create pod sandbox: ${why}`)
      throw error
    }
  }

  async #startAll(pod: Pod, runtimePod: RuntimePod, sandbox: Sandbox, actions: PodActions): Promise<Starts> {
    const starts: Starts = { failures: [], started: [] }
    const start = (container: Container) => this.#start({ pod, container, sandbox, runtimePod }, starts)
    for (const container of actions.ephemeralContainersToStart) await start(container)
    for (const container of actions.initContainersToStart) {
      if (!(await start(container)) && !isSidecar(container)) return starts
    }
    for (const container of actions.containersToStart) await start(container)
    return starts
  }

  /** Starts a container. Resolves to false if it could not be started. */
  async #start(request: StartRequest, { failures, started }: Starts): Promise<boolean> {
    const { reasons, resizes, starter } = this.#options
    const { pod, container } = request
    try {
      started.unshift(await starter.start(request))
      reasons.remove(uidOf(pod), container.name)
      resizes.started(pod, container.name)
      return true
    } catch (error) {
      if (!(error instanceof StartFailure)) throw error
      const before = reasons.get(uidOf(pod), container.name)?.reason
      // The kill triggers one extra sync, which reports the back-off.
      if (before === 'PostStartHookError' && error.reason === 'CrashLoopBackOff') failures.push(againNow)
      reasons.set(uidOf(pod), container.name, { reason: error.reason, message: error.message })
      failures.push(error)
      return false
    }
  }

  /**
   * Reports containers that just started as running, also those that have ended meanwhile. Upstream sees such a start
   * unless the sync takes longer, for example by a hook.
   */
  async #tellStarted(pod: Pod, started: ContainerRecord[]): Promise<void> {
    if (started.length === 0) return
    const sinceMs = this.#options.clock.now() - RELIST_MS
    const ids = new Set(started.filter(({ startedAtMs }) => startedAtMs > sinceMs).map(({ id }) => id))
    const now = await this.#options.cache.pod(uidOf(pod))
    const containers = now.containers.map((record) =>
      ids.has(record.id) ? { ...record, state: 'running' as const } : record,
    )
    this.#options.statuses.write(pod, { ...now, containers })
  }

  #whenAgain(pod: Pod, failures: StartFailure[], isNews: boolean): number | undefined {
    const { clock, random = Math.random, statuses } = this.#options
    const deadlineMs = statuses.deadlineMs(pod)
    if (failures.length === 0) return deadlineMs
    // A new sandbox and a container that failed to start are news by themselves: the round that follows tells why
    // nothing runs.
    if (isNews || failures.some(({ reason }) => reason === 'RunContainerError')) return clock.now()
    const retries = failures.map(({ retryAtMs }) => retryAtMs ?? clock.now() + RETRY_MS * (1 + SPREAD * random()))
    return Math.min(...retries, deadlineMs ?? Number.POSITIVE_INFINITY)
  }
}

/** A new sandbox begins with its first init container again: what earlier ones did does not count. */
function exitedInitContainers(pod: Pod, { containers }: RuntimePod): string[] {
  const names = new Set((pod.spec.initContainers ?? []).map(({ name }) => name))
  return containers.filter(({ name, state }) => names.has(name) && state === 'exited').map(({ id }) => id)
}

/** Sandboxes that were lost, and of which no container is kept. */
const emptySandboxes = ({ sandboxes, containers }: RuntimePod): string[] =>
  sandboxes.filter(({ id }) => !containers.some(({ sandboxId }) => sandboxId === id)).map(({ id }) => id)

function sysctlsOf({ spec }: Pod): { sysctls?: Sysctl[] } {
  const { sysctls = [] } = spec.securityContext ?? {}
  return sysctls.length > 0 ? { sysctls: sysctls.map(({ name, value }) => ({ name: sysctlName(name), value })) } : {}
}

/** SCTP is not passed on. */
function servedHostPorts(pod: Pod): { hostPorts?: HostPort[] } {
  const hostPorts = hostPortsOf(pod).filter(({ protocol }) => protocol !== 'SCTP')
  return hostPorts.length > 0 ? { hostPorts } : {}
}

const uidOf = ({ metadata }: Pod): string => metadata.uid ?? ''
