import type { Container, Pod } from '../../shared/api/types.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import type { EventRecorder } from '../events/event-recorder.ts'
import { containerGraceSeconds, type KillCause, MINIMUM_GRACE_SECONDS } from '../pod/grace-period.ts'
import { probeOf } from '../pod/probe-types.ts'
import { stopSignalOf } from '../pods/container-config.ts'
import type { ContainerRecord, ContainerRuntime } from '../runtime/container-runtime.ts'
import type { ContainerStop } from '../terminations/container-stop.ts'
import type { TerminationRecorder } from '../terminations/termination-recorder.ts'
import type { HookRunner } from './hook-runner.ts'
import type { RunningGrace, RunningGraces } from './running-grace.ts'
import type { TerminationOrder } from './termination-order.ts'
import { deliverReason } from './termination-reason.ts'
import { timeVariables } from './time-variables.ts'

export interface KillRequest {
  pod: Pod
  container: Container
  record: ContainerRecord
  podIP: string
  cause: KillCause
  /** The Killing event's text; by default `Stopping container <name>`. */
  message?: string
  /** The grace of a pod that ends; otherwise the container's own rules hold. */
  graceSeconds?: number
  order?: TerminationOrder
  /** Why the pod is terminated, for the hook. */
  reason?: string
}
type StopOptions = Parameters<ContainerRuntime['stopContainer']>[1]

export interface ContainerKillerOptions {
  runtime: ContainerRuntime
  clock: Clock
  events: EventRecorder
  hooks: HookRunner
  terminations: TerminationRecorder
  graces: RunningGraces
  /** The feature gate ProbeTerminationGracePeriod. */
  probeGracePeriods: boolean
  /** A failed probe kills a container; whether its own grace period applies. */
  onProbeKill?(type: 'liveness' | 'startup', ownGrace: boolean): void
  /** How long a program is left to set its signal handlers, from its start. */
  handlersMs: number
  warn(message: string, pod: Pod): void
  error(message: string, pod: Pod): void
}

/**
 * Stops containers: Killing event, preStop hook, its turn among sidecars, TERM, and KILL when the grace is used up.
 * Hook and waiting are charged to the one grace period, in whole seconds; what is left is never less than 2 s.
 */
export class ContainerKiller {
  readonly #options: ContainerKillerOptions

  constructor(options: ContainerKillerOptions) {
    this.#options = options
  }

  /** Resolves when the container's processes are gone. */
  async kill(request: KillRequest): Promise<void> {
    const { clock, events, graces, terminations } = this.#options
    const { pod, container, record, order } = request
    const { name } = container
    events.podEvent(pod, name, 'Normal', 'Killing', killingMessage(request))
    const graceSeconds = request.graceSeconds ?? this.#ownGraceSeconds(request)
    this.#countProbeKill(request)
    const podEnds = request.graceSeconds !== undefined
    const stop = terminations.stopping({ ...request, graceSeconds, podEnds })
    const grace = graces.begin(pod.metadata.uid ?? '', graceSeconds, {
      onShortened: (seconds) => stop.graceShortened(seconds),
    })
    try {
      if (container.lifecycle?.preStop && grace.left > 0) {
        stop.hookBegins()
        if (!(await grace.charge(() => this.#preStop(request, stop, graceSeconds)))) stop.hookOverruns()
      }
      if (order && grace.left > 0) {
        stop.waitBegins()
        await grace.charge(() => order.turn(name, grace.left * 1000))
        stop.waitEnds()
      }
      const youngMs = this.#youngMs(record)
      if (youngMs > 0) await clock.machine.sleep(youngMs)
      await this.#stopWithin(grace, record, stop)
    } finally {
      grace.end()
      stop.ended()
    }
    order?.ended(name)
  }

  async #preStop(request: KillRequest, stop: ContainerStop, graceSeconds: number): Promise<void> {
    const { clock, events, hooks, warn, error } = this.#options
    const { pod, container, record, podIP } = request
    const hook = container.lifecycle?.preStop
    if (!hook) return
    const { handler, env, headers, problem } = deliverReason(hook, request.reason)
    if (problem) {
      error(problem, pod)
      events.podEvent(pod, container.name, 'Warning', 'InvalidReasonDelivery', problem)
    }
    const told = { ...env, ...timeVariables(clock, graceSeconds) }
    const result = await hooks.run({ pod, container, record, podIP, handler, env: told, headers })
    stop.hookEnds(result)
    // Also long after the kubelet stopped waiting for it.
    if (result.outcome !== 'success') {
      warn(`preStop hook of container ${container.name} failed: ${result.message}`, pod)
      events.podEvent(pod, container.name, 'Warning', 'FailedPreStopHook', 'PreStopHook failed')
    }
  }

  #ownGraceSeconds({ pod, container, cause }: KillRequest): number {
    const counts = this.#options.probeGracePeriods || !isOfProbe(cause)
    return containerGraceSeconds(pod, container, counts ? cause : 'Unknown')
  }

  #countProbeKill({ pod, container, cause, graceSeconds }: KillRequest): void {
    if (!isOfProbe(cause)) return
    const { onProbeKill, probeGracePeriods } = this.#options
    const type = cause === 'LivenessProbe' ? 'liveness' : 'startup'
    const isOfPod = graceSeconds !== undefined || pod.metadata.deletionGracePeriodSeconds !== undefined
    const own = probeOf(container, type)?.terminationGracePeriodSeconds !== undefined
    onProbeKill?.(type, own && probeGracePeriods && !isOfPod)
  }

  /** How much of the time for its signal handlers a program has left. */
  #youngMs({ startedAtMs }: ContainerRecord): number {
    const { clock, handlersMs } = this.#options
    return handlersMs - (clock.now() - startedAtMs) / clock.scale
  }

  /** TERM and, when what is left of the grace is over, KILL: sooner, when it is shortened meanwhile. */
  async #stopWithin(grace: RunningGrace, record: ContainerRecord, stop: ContainerStop): Promise<void> {
    const { clock, runtime } = this.#options
    const { id } = record
    const how: Omit<StopOptions, 'gracePeriodMs'> = {
      signal: stopSignalOf(record),
      onSignal: (...sent) => stop.signalled(...sent),
    }
    const askedMs = clock.monotonic()
    const stopping = runtime.stopContainer(id, { ...how, gracePeriodMs: atLeast(grace.left) * 1000 })
    grace.onShortened((left) => {
      const gracePeriodMs = Math.max(1, atLeast(left) * 1000 - (clock.monotonic() - askedMs))
      // Whether it fails is known by the one that is waited for.
      runtime.stopContainer(id, { ...how, gracePeriodMs }).catch(() => {})
    })
    await stopping
  }
}

const isOfProbe = (cause: KillCause): boolean => cause === 'LivenessProbe' || cause === 'StartupProbe'

/** Whatever is left: a process that can end shall not be killed for lack of a moment. */
const atLeast = (seconds: number): number => Math.max(MINIMUM_GRACE_SECONDS, seconds)

const killingMessage = ({ message, container, reason }: KillRequest): string =>
  message ?? `Stopping container ${container.name}${reason === undefined ? '' : `, reason: ${reason}`}`
