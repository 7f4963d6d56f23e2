import type { Pod, PodStatus } from '../../shared/api/types.ts'
import type { Clock, Timer } from '../../shared/clock/clock.ts'
import { toTime } from '../../shared/clock/timestamp.ts'
import type { KillPodNow } from '../ending/kill-pod-now.ts'
import { type EventRecorder, nodeReference } from '../events/event-recorder.ts'
import type { NodePressure } from '../node/node-status.ts'
import { isCritical } from '../pod/critical-pod.ts'
import type { AdmitHandler } from '../pod/rejection.ts'
import { disruptedByKubelet } from '../status/disruption.ts'
import { admitUnderPressure } from './admission.ts'
import { exceededLocalLimit, hasLocalLimits } from './local-storage.ts'
import { evictionMessage } from './message.ts'
import type { PodUsage } from './pod-usage.ts'
import { nextPressure, noPressure } from './pressure-state.ts'
import { rankForEviction } from './rank.ts'
import { type Observations, type Signal, signals } from './signals.ts'
import { type Amount, amountOf, type Threshold, thresholdsMet } from './thresholds.ts'

export interface EvictionConfig {
  thresholds: readonly Threshold[]
  /** Signals for which the machine itself is looked at; of others only what is induced counts. */
  measured: ReadonlySet<string>
  /** Seconds that a soft threshold leaves a pod at most. */
  maxPodGracePeriodSeconds: number
  pressureTransitionPeriodMs: number
}

export interface EvictionManagerOptions {
  clock: Clock
  events: EventRecorder
  nodeName: string
  config: EvictionConfig
  activePods(): Iterable<Pod>
  /** Measures how much of each signal's resource is available on this machine, and its capacity. */
  observe(): Promise<Observations>
  usageOf(pods: readonly Pod[]): Promise<(pod: Pod) => PodUsage>
  kill: KillPodNow
  /** Frees something else of the node than pods; absent for a signal for which there is nothing. */
  reclaim?(signal: Signal): (() => Promise<void>) | undefined
  /** A pod was evicted for `signal`, or for one of upstream's three limits of local storage. */
  onEvicted?(signal: string): void
  /** A condition of the node has changed. */
  onChange(): void
  onError(error: unknown): void
}

const PERIOD_MS = 10_000
/** The next measurement follows this soon after an eviction. */
const AFTER_EVICTION_MS = 1_000
/** Ends pods at once, but for two seconds after a hook. */
const HARD_GRACE_SECONDS = 1

/** Says why a pod is evicted. */
interface Reason {
  signal: string
  message: string
  graceSeconds: number
  annotations?: Record<string, string>
  disrupted?: boolean
}

/**
 * Keeps the node alive at the cost of pods: when it runs low on something, one pod after the other goes. Upstream:
 * pkg/kubelet/eviction.
 */
export class EvictionManager {
  readonly #options: EvictionManagerOptions
  readonly #induced = new Map<Signal, Amount | undefined>()
  #state = noPressure
  #timer: Timer | undefined
  #busy: Promise<void> | undefined
  #closed = false

  constructor(options: EvictionManagerOptions) {
    this.#options = options
    this.#schedule(PERIOD_MS)
  }

  pressure(): NodePressure {
    return this.#state.pressure
  }

  admit(pod: Pod): ReturnType<AdmitHandler> {
    return admitUnderPressure(pod, this.#state.pressure)
  }

  /** From now on there is only so much of it, whatever the machine says; by default half of what should be there. */
  induce(signal: Signal, available?: Amount): void {
    this.#induced.set(signal, available)
    this.#schedule(0)
  }

  /** Ends the pressure that was set by hand. */
  release(signal: Signal): void {
    this.#induced.delete(signal)
    this.#schedule(0)
  }

  close(): void {
    this.#closed = true
    this.#timer?.cancel()
  }

  async #observations(): Promise<Observations> {
    const { config, observe } = this.#options
    if (config.measured.size + this.#induced.size === 0) return {}
    const measured = await observe()
    const found: Observations = Object.fromEntries(
      Object.entries(measured).filter(([signal]) => config.measured.has(signal)),
    )
    for (const [signal, available] of this.#induced) {
      const { capacity = 0 } = measured[signal] ?? {}
      const wanted = Math.min(
        ...config.thresholds.filter((one) => one.signal === signal).map(({ amount }) => amountOf(amount, capacity)),
      )
      found[signal] = { available: available ? amountOf(available, capacity) : Math.floor(wanted / 2), capacity }
    }
    return found
  }

  /** True when a pod was evicted: then there may be more to do. */
  async #look(): Promise<boolean> {
    const seen = await this.#observations()
    const before = this.#state.pressure
    const { clock, config, onChange } = this.#options
    const { state: after, due } = nextPressure(this.#state, {
      thresholds: config.thresholds,
      observations: seen,
      nowMs: clock.monotonic(),
      transitionMs: config.pressureTransitionPeriodMs,
    })
    this.#state = after
    if (JSON.stringify(after.pressure) !== JSON.stringify(before)) onChange()
    if (await this.#evictForLocalLimits()) return true
    const [threshold] = due
    return threshold !== undefined && (await this.#evictFor(threshold, seen))
  }

  async #evictForLocalLimits(): Promise<boolean> {
    const { activePods } = this.#options
    const limited = [...activePods()].filter((pod) => hasLocalLimits(pod) && !pod.metadata.deletionTimestamp)
    if (limited.length === 0) return false
    const usageOf = await this.#options.usageOf(limited)
    let evicted = false
    for (const pod of limited) {
      const exceeded = exceededLocalLimit(pod, usageOf(pod))
      if (exceeded) evicted = (await this.#evict(pod, { ...exceeded, graceSeconds: HARD_GRACE_SECONDS })) || evicted
    }
    return evicted
  }

  async #evictFor(threshold: Threshold, seen: Observations): Promise<boolean> {
    const { events, config, nodeName, activePods } = this.#options
    const { resource } = signals[threshold.signal]
    const node = nodeReference(nodeName)
    events.event(node, 'Warning', 'EvictionThresholdMet', `Attempting to reclaim ${resource}`)
    const reclaim = this.#options.reclaim?.(threshold.signal)
    if (reclaim && (await this.#isEnough(reclaim))) return false
    const pods = [...activePods()]
    const usageOf = await this.#options.usageOf(pods)
    for (const pod of rankForEviction(pods, resource, usageOf)) {
      const { message, annotations } = evictionMessage(pod, usageOf(pod), { threshold, observations: seen })
      const graceSeconds = threshold.isHard
        ? HARD_GRACE_SECONDS
        : Math.min(
            config.maxPodGracePeriodSeconds,
            pod.spec.terminationGracePeriodSeconds ?? config.maxPodGracePeriodSeconds,
          )
      if (await this.#evict(pod, { signal: threshold.signal, message, annotations, graceSeconds, disrupted: true }))
        return true
    }
    return false
  }

  /** True if no pod need be evicted: enough was freed without. */
  async #isEnough(reclaim: () => Promise<void>): Promise<boolean> {
    const { config, onError } = this.#options
    try {
      await reclaim()
    } catch (error) {
      onError(error)
    }
    return thresholdsMet(config.thresholds, await this.#observations(), { settled: true }).length === 0
  }

  async #evict(pod: Pod, why: Reason): Promise<boolean> {
    if (isCritical(pod)) return false
    const { clock, events, kill, onEvicted } = this.#options
    const { message, annotations, graceSeconds } = why
    events.podEvent(pod, undefined, 'Warning', 'Evicted', message, annotations)
    const { generation } = pod.metadata
    const status = (status: PodStatus): PodStatus => ({
      ...status,
      phase: 'Failed',
      reason: 'Evicted',
      message,
      ...(why.disrupted && {
        conditions: disruptedByKubelet(status, { message, generation, time: toTime(clock.now()) }),
      }),
    })
    await kill(pod, { graceSeconds, cause: 'Evicted', status })
    onEvicted?.(why.signal)
    return true
  }

  async #round(): Promise<void> {
    let evicted = false
    try {
      evicted = await this.#look()
    } catch (error) {
      this.#options.onError(error)
    }
    this.#busy = undefined
    this.#schedule(evicted ? AFTER_EVICTION_MS : PERIOD_MS)
  }

  #schedule(delayMs: number): void {
    this.#timer?.cancel()
    if (this.#closed) return
    const begin = () => (this.#busy ??= this.#round())
    this.#timer = this.#options.clock.setTimer(delayMs, begin, { background: true })
  }
}
