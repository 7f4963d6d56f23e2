import type { Pod, PodStatus } from '../../shared/api/types.ts'
import type { Clock, Timer } from '../../shared/clock/clock.ts'
import { toTime } from '../../shared/clock/timestamp.ts'
import { isCritical } from '../admission/critical-pod.ts'
import type { AdmitHandler } from '../admission/rejection.ts'
import type { EventRecorder } from '../events/event-recorder.ts'
import { nodeReference } from '../node/node-registration.ts'
import type { NodePressure } from '../node/node-status.ts'
import type { KillPodNow } from '../pods/kill-pod-now.ts'
import { disruptedByKubelet } from '../status/disruption.ts'
import { admitUnderPressure } from './admission.ts'
import { exceededLocalLimit, hasLocalLimits } from './local-storage.ts'
import { evictionMessage } from './message.ts'
import type { PodUsage } from './pod-usage.ts'
import { nextPressure, noPressure } from './pressure-state.ts'
import { rankForEviction } from './rank.ts'
import { type Observations, type Signal, signals } from './signals.ts'
import { type Amount, amountOf, type Threshold } from './thresholds.ts'

export interface EvictionConfig {
  thresholds: readonly Threshold[]
  /** Signals for which the machine itself is looked at; of others only what is induced counts. */
  measured: ReadonlySet<string>
  /** Seconds that a soft threshold leaves a pod at most. */
  maxPodGracePeriodSeconds: number
  pressureTransitionPeriodMs: number
}

/**
 * Keeps the node alive at the cost of pods: when it runs low on something, one pod after the other goes. Upstream:
 * pkg/kubelet/eviction.
 */
export interface EvictionManager {
  pressure(): NodePressure
  admit: AdmitHandler
  /** From now on there is only so much of it, whatever the machine says; by default half of what should be there. */
  induce(signal: Signal, available?: Amount): void
  /** No more. */
  release(signal: Signal): void
  close(): void
}
export interface EvictionManagerOptions {
  clock: Clock
  events: EventRecorder
  nodeName: string
  config: EvictionConfig
  activePods(): Iterable<Pod>
  /** What of each signal there is on this machine, and could be. */
  observe(): Promise<Observations>
  usageOf(pods: readonly Pod[]): Promise<(pod: Pod) => PodUsage>
  kill: KillPodNow
  /** A pod was evicted for `signal`, or for one of upstream's three limits of local storage. */
  onEvicted?(signal: string): void
  /** A condition of the node has changed. */
  onChange(): void
  onError(error: unknown): void
}

const PERIOD_MS = 10_000
/** After an eviction the next look is not far. */
const AFTER_EVICTION_MS = 1_000
/** At once, but for two seconds after a hook. */
const HARD_GRACE_SECONDS = 1

export function createEvictionManager(options: EvictionManagerOptions): EvictionManager {
  const { clock, events, config } = options
  const induced = new Map<Signal, Amount | undefined>()
  let state = noPressure
  let timer: Timer | undefined
  let busy: Promise<void> | undefined
  let closed = false

  async function observations(): Promise<Observations> {
    if (config.measured.size + induced.size === 0) return {}
    const measured = await options.observe()
    const found: Observations = Object.fromEntries(
      Object.entries(measured).filter(([signal]) => config.measured.has(signal)),
    )
    for (const [signal, available] of induced) {
      const { capacity = 0 } = measured[signal] ?? {}
      const wanted = Math.min(
        ...config.thresholds.filter((one) => one.signal === signal).map(({ amount }) => amountOf(amount, capacity)),
      )
      found[signal] = { available: available ? amountOf(available, capacity) : Math.floor(wanted / 2), capacity }
    }
    return found
  }

  /** True when a pod was evicted: then there may be more to do. */
  async function look(): Promise<boolean> {
    const seen = await observations()
    const before = state.pressure
    const { thresholds } = config
    const transitionMs = config.pressureTransitionPeriodMs
    const { state: after, due } = nextPressure(state, {
      thresholds,
      observations: seen,
      nowMs: clock.monotonic(),
      transitionMs,
    })
    state = after
    if (JSON.stringify(after.pressure) !== JSON.stringify(before)) options.onChange()
    if (await evictForLocalLimits()) return true
    const [threshold] = due
    return threshold !== undefined && (await evictFor(threshold, seen))
  }

  async function evictForLocalLimits(): Promise<boolean> {
    const limited = [...options.activePods()].filter((pod) => hasLocalLimits(pod) && !pod.metadata.deletionTimestamp)
    if (limited.length === 0) return false
    const usageOf = await options.usageOf(limited)
    let evicted = false
    for (const pod of limited) {
      const exceeded = exceededLocalLimit(pod, usageOf(pod))
      if (exceeded) evicted = (await evict(pod, { ...exceeded, graceSeconds: HARD_GRACE_SECONDS })) || evicted
    }
    return evicted
  }

  async function evictFor(threshold: Threshold, seen: Observations): Promise<boolean> {
    const { resource } = signals[threshold.signal]
    const node = nodeReference(options.nodeName)
    events.event(node, 'Warning', 'EvictionThresholdMet', `Attempting to reclaim ${resource}`)
    const pods = [...options.activePods()]
    const usageOf = await options.usageOf(pods)
    for (const pod of rankForEviction(pods, resource, usageOf)) {
      const { message, annotations } = evictionMessage(pod, usageOf(pod), { threshold, observations: seen })
      const graceSeconds = threshold.isHard
        ? HARD_GRACE_SECONDS
        : Math.min(
            config.maxPodGracePeriodSeconds,
            pod.spec.terminationGracePeriodSeconds ?? config.maxPodGracePeriodSeconds,
          )
      if (await evict(pod, { signal: threshold.signal, message, annotations, graceSeconds, disrupted: true }))
        return true
    }
    return false
  }

  async function evict(
    pod: Pod,
    why: {
      signal: string
      message: string
      graceSeconds: number
      annotations?: Record<string, string>
      disrupted?: boolean
    },
  ): Promise<boolean> {
    if (isCritical(pod)) return false
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
    await options.kill(pod, { graceSeconds, cause: 'Evicted', status })
    options.onEvicted?.(why.signal)
    return true
  }

  async function round(): Promise<void> {
    let evicted = false
    try {
      evicted = await look()
    } catch (error) {
      options.onError(error)
    }
    busy = undefined
    schedule(evicted ? AFTER_EVICTION_MS : PERIOD_MS)
  }

  function schedule(delayMs: number): void {
    timer?.cancel()
    if (!closed) timer = clock.setTimer(delayMs, () => (busy ??= round()), { background: true })
  }

  schedule(PERIOD_MS)
  return {
    pressure: () => state.pressure,
    admit: (pod) => admitUnderPressure(pod, state.pressure),
    induce(signal, available) {
      induced.set(signal, available)
      schedule(0)
    },
    release(signal) {
      induced.delete(signal)
      schedule(0)
    },
    close() {
      closed = true
      timer?.cancel()
    },
  }
}
