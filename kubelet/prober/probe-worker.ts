import { isTerminalPhase } from '../../shared/api/pods/pod-phase.ts'
import type { Container, Pod, PodStatus, Probe } from '../../shared/api/types.ts'
import type { Clock, Timer } from '../../shared/clock/clock.ts'
import { parseTime } from '../../shared/clock/timestamp.ts'
import { INITIAL, type ProbeResult, type ProbeType } from '../pod/probe-types.ts'
import { mayRunAgain } from '../pod/restart-policy.ts'
import { findContainerStatus } from '../status/find-container-status.ts'

export interface ProbeWorkerOptions {
  pod: Pod
  container: Container
  type: ProbeType
  probe: Probe
  clock: Clock
  /** Before the first run, whatever happens meanwhile. */
  startInMs?: number
  /** Returns the kubelet's own status of the pod. */
  status(): PodStatus | undefined
  /** Returns the result that holds for a container that ran before this kubelet started. */
  adopted(containerId: string): ProbeResult | undefined
  result(containerId: string): ProbeResult | undefined
  /** Runs for each result that holds, also when it is the same as before. */
  onResult(containerId: string, result: ProbeResult): void
  /** Runs the action once. Undefined: it could not be told. */
  /** When the signal aborts, the result is not used any more. */
  run(containerId: string, signal: AbortSignal): Promise<ProbeResult | undefined>
  /** The worker has nothing to do any more. */
  onEnd(): void
}

/**
 * Probes one container of one pod in one way, from before it exists until it is gone for good.
 * Ticks count from the worker's beginning, not from the container's start.
 */
export class ProbeWorker {
  readonly #options: ProbeWorkerOptions
  readonly #periodMs: number
  #tickedFromMs: number
  /** Counts the ticks that are over since then. */
  #ticks = 0
  #containerId = ''
  #onHold = false
  #lastRun: ProbeResult | undefined
  #runLength = 0
  readonly #gone = new AbortController()
  #stopped = false
  #triggered = false
  #wake: (() => void) | undefined
  #endPause: (() => void) | undefined
  #timer: Timer | undefined

  constructor(options: ProbeWorkerOptions) {
    this.#options = options
    this.#periodMs = (options.probe.periodSeconds ?? 10) * 1000
    this.#tickedFromMs = options.clock.monotonic()
    void this.#loop()
  }

  /** Run now, and count ticks from now on. */
  trigger(): void {
    this.#triggered = true
    this.#wake?.()
  }

  stop(): void {
    this.#stopped = true
    this.#wake?.()
    this.#endPause?.()
  }

  /** Stops, and gives up a probe that is under way: its pod is gone. */
  abandon(): void {
    this.stop()
    this.#gone.abort()
  }

  async #loop(): Promise<void> {
    await this.#pause(this.#options.startInMs ?? 0)
    while (!this.#stopped && (await this.#probe())) await this.#nextTick()
    this.#timer?.cancel()
    this.#options.onEnd()
  }

  async #pause(delayMs: number): Promise<void> {
    if (delayMs <= 0) return
    const { clock } = this.#options
    await new Promise<void>((resolve) => {
      this.#endPause = resolve
      this.#timer = clock.setTimer(delayMs, resolve, { background: true })
    })
    this.#timer?.cancel()
    this.#tickFromNow()
  }

  /** A tick that came during a probe is over at once, as that of Go's ticker; of several only one counts. */
  async #nextTick(): Promise<void> {
    const { clock } = this.#options
    const waitMs = this.#tickedFromMs + (this.#ticks + 1) * this.#periodMs - clock.monotonic()
    if (waitMs > 0 && !this.#triggered && !this.#stopped) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
        this.#timer = clock.setTimer(waitMs, resolve, { background: true })
      })
      this.#timer?.cancel()
      this.#wake = undefined
    }
    if (this.#triggered) this.#tickFromNow()
    else this.#ticks = Math.floor((clock.monotonic() - this.#tickedFromMs) / this.#periodMs)
    this.#triggered = false
  }

  #tickFromNow(): void {
    this.#tickedFromMs = this.#options.clock.monotonic()
    this.#ticks = 0
  }

  /** Probes once. Resolves to false if there is nothing left to probe. */
  async #probe(): Promise<boolean> {
    const { type, probe, container, pod, clock } = this.#options
    const status = this.#options.status()
    if (isTerminalPhase(status?.phase)) return false
    const entry = findContainerStatus(status, container.name)
    const id = entry?.containerID?.replace(/^.*:\/\//, '')
    if (!entry || !id) return true
    if (id !== this.#containerId) this.#meet(id)
    if (this.#onHold) return true
    const { running } = entry.state ?? {}
    if (!running) {
      this.#options.onResult(id, 'failure')
      return !hasEndedForGood(pod, container, status)
    }
    const runsForMs = clock.now() - parseTime(running.startedAt ?? '')
    if (Math.floor(runsForMs / 1000) < (probe.initialDelaySeconds ?? 0)) return true
    if ((type === 'startup') === Boolean(entry.started)) return true
    const result = await this.#options.run(id, this.#gone.signal)
    if (result !== undefined && !this.#stopped) this.#count(id, result)
    return true
  }

  /** Results of the instance before count on, as upstream, unless they have killed it. */
  #meet(id: string): void {
    const { type, adopted, onResult } = this.#options
    this.#containerId = id
    this.#onHold = false
    onResult(id, adopted(id) ?? INITIAL[type])
  }

  #count(id: string, result: ProbeResult): void {
    const { type, probe } = this.#options
    this.#runLength = result === this.#lastRun ? this.#runLength + 1 : 1
    this.#lastRun = result
    const threshold = result === 'failure' ? (probe.failureThreshold ?? 3) : (probe.successThreshold ?? 1)
    if (this.#runLength < threshold) return
    this.#options.onResult(id, result)
    // It is about to be restarted, or has started: either way there is nothing to ask of this instance.
    if ((type === 'liveness' && result === 'failure') || type === 'startup') {
      this.#onHold = true
      this.#lastRun = undefined
    }
  }
}

/** Returns true if the container has ended and will not run again, so that there is nothing left to probe. */
export function hasEndedForGood({ spec }: Pod, container: Container, status: PodStatus | undefined): boolean {
  const ended = findContainerStatus(status, container.name)?.state?.terminated
  return ended !== undefined && !mayRunAgain(spec, container, ended.exitCode)
}
