import type { Container, Pod } from '../../shared/api/types.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import type { EventRecorder } from '../events/event-recorder.ts'
import { containerGraceSeconds, type KillCause, MINIMUM_GRACE_SECONDS } from '../pod/grace-period.ts'
import { stopSignalOf } from '../pods/container-config.ts'
import { probeOf } from '../prober/probe-types.ts'
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
  /** A terminating pod's grace; otherwise the container's own rules hold. */
  graceSeconds?: number
  order?: TerminationOrder
  /** Why the pod is terminated, for the hook. */
  reason?: string
}
type StopOptions = Parameters<ContainerRuntime['stopContainer']>[1]
/** Resolves when the container's processes are gone. */
export type KillContainer = (request: KillRequest) => Promise<void>

export interface KillContainerOptions {
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
 * Killing event, preStop hook, its turn among sidecars, TERM, and KILL when the grace is used up.
 * Hook and waiting are charged to the one grace period, in whole seconds; what is left is never less than 2 s.
 */
export function createKillContainer(options: KillContainerOptions): KillContainer {
  const { runtime, clock, events } = options

  async function preStop(request: KillRequest, stop: ContainerStop, graceSeconds: number): Promise<void> {
    const { pod, container, record, podIP } = request
    const hook = container.lifecycle?.preStop
    if (!hook) return
    const { handler, env, headers, problem } = deliverReason(hook, request.reason)
    if (problem) {
      options.error(problem, pod)
      events.podEvent(pod, container.name, 'Warning', 'InvalidReasonDelivery', problem)
    }
    const told = { ...env, ...timeVariables(clock, graceSeconds) }
    const result = await options.hooks.run({ pod, container, record, podIP, handler, env: told, headers })
    stop.hookEnds(result)
    // Also long after the kubelet stopped waiting for it.
    if (result.outcome !== 'success') {
      options.warn(`preStop hook of container ${container.name} failed: ${result.message}`, pod)
      events.podEvent(pod, container.name, 'Warning', 'FailedPreStopHook', 'PreStopHook failed')
    }
  }

  const ownGraceSeconds = ({ pod, container, cause }: KillRequest): number =>
    containerGraceSeconds(pod, container, options.probeGracePeriods || !isOfProbe(cause) ? cause : 'Unknown')

  function countProbeKill({ pod, container, cause }: KillRequest): void {
    if (!isOfProbe(cause)) return
    const type = cause === 'LivenessProbe' ? 'liveness' : 'startup'
    const isDeleted = pod.metadata.deletionGracePeriodSeconds !== undefined
    const own = probeOf(container, type)?.terminationGracePeriodSeconds !== undefined
    options.onProbeKill?.(type, own && options.probeGracePeriods && !isDeleted)
  }

  /** TERM and, when what is left of the grace is over, KILL: sooner, when it is shortened meanwhile. */
  async function stopWithin(grace: RunningGrace, { id }: ContainerRecord, how: Omit<StopOptions, 'gracePeriodMs'>) {
    const askedMs = clock.monotonic()
    const stopping = runtime.stopContainer(id, { ...how, gracePeriodMs: atLeast(grace.left) * 1000 })
    grace.onShortened((left) => {
      const gracePeriodMs = Math.max(1, atLeast(left) * 1000 - (clock.monotonic() - askedMs))
      // Whether it fails is known by the one that is waited for.
      runtime.stopContainer(id, { ...how, gracePeriodMs }).catch(() => {})
    })
    await stopping
  }

  return async (request) => {
    const { pod, container, record, order } = request
    const { name } = container
    events.podEvent(pod, name, 'Normal', 'Killing', killingMessage(request))
    const graceSeconds = request.graceSeconds ?? ownGraceSeconds(request)
    countProbeKill(request)
    const stop = options.terminations.stopping({
      ...request,
      graceSeconds,
      podEnds: request.graceSeconds !== undefined,
    })
    const grace = options.graces.begin(pod.metadata.uid ?? '', graceSeconds, { onShortened: stop.graceShortened })
    try {
      if (container.lifecycle?.preStop && grace.left > 0) {
        stop.hookBegins()
        if (!(await grace.charge(() => preStop(request, stop, graceSeconds)))) stop.hookOverruns()
      }
      if (order && grace.left > 0) {
        stop.waitBegins()
        await grace.charge(() => order.turn(name, grace.left * 1000))
        stop.waitEnds()
      }
      const youngMs = options.handlersMs - (clock.now() - record.startedAtMs) / clock.scale
      if (youngMs > 0) await clock.machine.sleep(youngMs)
      await stopWithin(grace, record, {
        signal: stopSignalOf(record),
        onSignal: (...sent) => stop.signalled(...sent),
      })
    } finally {
      grace.end()
      stop.ended()
    }
    order?.ended(name)
  }
}

const isOfProbe = (cause: KillCause): boolean => cause === 'LivenessProbe' || cause === 'StartupProbe'

/** Whatever is left: a process that can end shall not be killed for lack of a moment. */
const atLeast = (seconds: number): number => Math.max(MINIMUM_GRACE_SECONDS, seconds)

const killingMessage = ({ message, container, reason }: KillRequest): string =>
  message ?? `Stopping container ${container.name}${reason === undefined ? '' : `, reason: ${reason}`}`
