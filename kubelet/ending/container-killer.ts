import type { Pod } from '../../shared/api/types.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import type { FeatureGates } from '../../shared/config/feature-gates.ts'
import type { HookRunner } from '../actions/hook-runner.ts'
import type { EventRecorder } from '../events/event-recorder.ts'
import { probeOf } from '../pod/probe-types.ts'
import { timeVariables } from '../pod/time-variables.ts'
import type { ContainerRecord, ContainerRuntime } from '../runtime/container-runtime.ts'
import { stopSignalOf } from '../runtime/recorded-container.ts'
import { containerGraceSeconds, type KillCause, MINIMUM_GRACE_SECONDS } from './grace-period.ts'
import type { KillRequest } from './kill.ts'
import type { KillJournal } from './record/kill-journal.ts'
import type { TerminationRecorder } from './record/termination-recorder.ts'
import type { RunningGrace, RunningGraces } from './running-grace.ts'
import { deliverReason } from './termination-reason.ts'

type StopOptions = Parameters<ContainerRuntime['stopContainer']>[1]

export interface ContainerKillerOptions {
  runtime: ContainerRuntime
  clock: Clock
  events: EventRecorder
  hooks: HookRunner
  terminations: TerminationRecorder
  graces: RunningGraces
  featureGates: FeatureGates
  /** A failed probe kills a container; whether its own grace period applies. */
  onProbeKill?(type: 'liveness' | 'startup', ownGrace: boolean): void
  /** Milliseconds from its start in which a program may set its signal handlers. */
  handlersMs: number
  warn(message: string, pod: Pod): void
  error(message: string, pod: Pod): void
}

/**
 * Kills containers: Killing event, preStop hook, its turn among sidecars, TERM, and KILL when the grace is used up.
 * The hook and the wait for other containers use up the one grace period, in whole seconds; TERM always leaves at
 * least 2 s. Upstream: killContainer in pkg/kubelet/kuberuntime/kuberuntime_container.go.
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
    const graceSeconds = request.ends === 'pod' ? request.graceSeconds : this.#ownGraceSeconds(request)
    this.#countProbeKill(request)
    const journal = terminations.killBegins({ ...request, graceSeconds })
    const grace = graces.begin(pod.metadata.uid ?? '', graceSeconds, {
      onShortened: (seconds) => journal.graceShortened(seconds),
    })
    try {
      if (container.lifecycle?.preStop && grace.left > 0) {
        journal.hookBegins()
        if (!(await grace.charge(() => this.#preStop(request, journal, graceSeconds)))) journal.hookOverruns()
      }
      if (order && grace.left > 0) {
        journal.waitBegins()
        await grace.charge(() => order.turn(name, grace.left * 1000))
        journal.waitEnds()
      }
      const youngMs = this.#youngMs(record)
      if (youngMs > 0) await clock.machine.sleep(youngMs)
      await this.#stopWithin(grace, record, journal)
    } finally {
      grace.end()
      journal.ended()
    }
    order?.ended(name)
  }

  async #preStop(request: KillRequest, journal: KillJournal, graceSeconds: number): Promise<void> {
    const { clock, events, hooks, runtime, warn, error } = this.#options
    const { pod, container, record, podIP } = request
    const hook = container.lifecycle?.preStop
    if (!hook) return
    const { handler, env, headers, problem } = deliverReason(hook, request.reason)
    if (problem) {
      error(problem, pod)
      events.podEvent(pod, container.name, 'Warning', 'InvalidReasonDelivery', problem)
    }
    const isInCommand = handler.exec?.command?.some((word, index) => word !== hook.exec?.command?.[index])
    if (runtime.capabilities().execEnv === false && !isInCommand) {
      for (const name of Object.keys(env ?? {})) {
        const notTold = `The container runtime gives a hook no variables: ${name} is not set`
        events.podEvent(pod, container.name, 'Warning', 'ReasonNotDelivered', notTold)
      }
    }
    const told = { ...env, ...timeVariables(clock, graceSeconds) }
    const result = await hooks.run({ pod, container, record, podIP, handler, env: told, headers })
    journal.hookEnds(result)
    // A hook can fail long after the kubelet stopped waiting for it.
    if (result.outcome !== 'success') {
      warn(`preStop hook of container ${container.name} failed: ${result.message}`, pod)
      events.podEvent(pod, container.name, 'Warning', 'FailedPreStopHook', 'PreStopHook failed')
    }
  }

  #ownGraceSeconds({ pod, container, cause }: KillRequest): number {
    const counts = this.#options.featureGates.ProbeTerminationGracePeriod || !isOfProbe(cause)
    return containerGraceSeconds(pod, container, counts ? cause : 'Unknown')
  }

  #countProbeKill({ pod, container, cause, ends }: KillRequest): void {
    if (!isOfProbe(cause)) return
    const { onProbeKill, featureGates } = this.#options
    const type = cause === 'LivenessProbe' ? 'liveness' : 'startup'
    const isOfPod = ends === 'pod' || pod.metadata.deletionGracePeriodSeconds !== undefined
    const own = probeOf(container, type)?.terminationGracePeriodSeconds !== undefined
    onProbeKill?.(type, own && featureGates.ProbeTerminationGracePeriod && !isOfPod)
  }

  /** Returns how many milliseconds a program still has to set its signal handlers. */
  #youngMs({ startedAtMs }: ContainerRecord): number {
    const { clock, handlersMs } = this.#options
    return handlersMs - (clock.now() - startedAtMs) / clock.scale
  }

  /** TERM and, when what is left of the grace is over, KILL: sooner, when it is shortened meanwhile. */
  async #stopWithin(grace: RunningGrace, record: ContainerRecord, journal: KillJournal): Promise<void> {
    const { clock, runtime } = this.#options
    const { id } = record
    const how: Omit<StopOptions, 'gracePeriodMs'> = {
      signal: stopSignalOf(record),
      onSignal: (...sent) => journal.signalled(...sent),
    }
    const askedMs = clock.monotonic()
    const stopping = runtime.stopContainer(id, { ...how, gracePeriodMs: atLeast(grace.left) * 1000 })
    grace.onShortened((left) => {
      const gracePeriodMs = Math.max(1, atLeast(left) * 1000 - (clock.monotonic() - askedMs))
      // Errors surface through the call that is awaited below.
      runtime.stopContainer(id, { ...how, gracePeriodMs }).catch(() => {})
    })
    await stopping
  }
}

const isOfProbe = (cause: KillCause): boolean => cause === 'LivenessProbe' || cause === 'StartupProbe'

/** A process always gets the minimum grace, so that one that can end is not killed. */
const atLeast = (seconds: number): number => Math.max(MINIMUM_GRACE_SECONDS, seconds)

const killingMessage = ({ message, container, reason }: KillRequest): string =>
  message ?? `Stopping container ${container.name}${reason === undefined ? '' : `, reason: ${reason}`}`
