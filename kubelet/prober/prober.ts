import { isTerminalPhase } from '../../shared/api/pods/pod-phase.ts'
import type { Container, Pod, PodStatus } from '../../shared/api/types.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { parseTime } from '../../shared/clock/timestamp.ts'
import type { ProbeMetrics } from '../metrics/probe-metrics.ts'
import { allContainers, findContainer } from '../pod/container-kinds.ts'
import { PROBE_TYPES, type ProbeResult, type ProbeType, probeOf } from '../pod/probe-types.ts'
import type { ProbeResults } from '../status/container-statuses.ts'
import { findContainerStatus } from '../status/find-container-status.ts'
import { AnswerCheck } from './answer-check.ts'
import type { ProbeRun } from './probe-run.ts'
import type { ProbeVerdicts } from './probe-verdicts.ts'
import { hasEndedForGood, ProbeWorker } from './probe-worker.ts'
import { createRunProbe, type ProbeRunOptions } from './run-probe.ts'

export interface ProberOptions extends Omit<ProbeRunOptions, 'answers'> {
  clock: Clock
  /** A result that holds has changed. */
  onChange(pod: Pod, type: ProbeType, result: ProbeResult): void
  metrics?: ProbeMetrics
  random?(): number
}

/**
 * A container has this long before its first readiness probe. Upstream needs about as long to notice that it runs;
 * hardly any server listens earlier, and a failed probe is repeated only a whole period later.
 */
const SETTLE_MS = 500
/** A container that is younger than this when the kubelet starts is probed again from the beginning. */
const ADOPTED_AFTER_MS = 10_000

/** Runs the probes of all pods on the node. */
export class Prober {
  readonly verdicts: ProbeVerdicts = {
    livenessFailed: (id) => this.#results.liveness.get(id) === 'failure',
    startup: (id) => this.#results.startup.get(id) ?? 'unknown',
  }
  readonly #options: ProberOptions
  readonly #workers = new Map<string, Map<string, ProbeWorker>>()
  readonly #results: Record<ProbeType, Map<string, ProbeResult>> = {
    liveness: new Map(),
    readiness: new Map(),
    startup: new Map(),
  }
  readonly #firstSeen = new Map<string, number>()
  readonly #runProbe: ReturnType<typeof createRunProbe>
  readonly #answers: AnswerCheck
  readonly #beganMs: number

  constructor(options: ProberOptions) {
    this.#options = options
    this.#answers = new AnswerCheck(options)
    this.#runProbe = createRunProbe({ ...options, answers: this.#answers })
    this.#beganMs = options.clock.now()
  }

  /** Idempotent; called before the containers exist. */
  add(pod: Pod): void {
    for (const container of allContainers(pod.spec)) {
      if (hasEndedForGood(pod, container, this.#options.status(uidOf(pod)))) continue
      for (const type of PROBE_TYPES) this.#start(pod, container, type)
    }
  }

  /** A deleted pod is not restarted: only readiness still counts, and all probes of sidecars. */
  stopKilling(pod: Pod): void {
    for (const container of pod.spec.containers) {
      for (const type of ['liveness', 'startup'])
        this.#workers.get(uidOf(pod))?.get(`${container.name}/${type}`)?.stop()
    }
  }

  remove(podUid: string): void {
    for (const worker of this.#workers.get(podUid)?.values() ?? []) worker.abandon()
    this.#workers.delete(podUid)
  }

  results(pod: Pod): ProbeResults {
    return {
      started: (name, id) => this.#outcome(pod, name, id, 'startup'),
      ready: (name, id) => this.#outcome(pod, name, id, 'readiness'),
    }
  }

  /** A status was told: a container that has started but is not ready is probed at once, or when it has settled. */
  statusTold(pod: Pod, { phase, containerStatuses = [], initContainerStatuses = [] }: PodStatus): void {
    const { machine } = this.#options.clock
    for (const { name, started, ready, containerID = '' } of [...containerStatuses, ...initContainerStatuses]) {
      const worker = this.#workers.get(uidOf(pod))?.get(`${name}/readiness`)
      if (!worker || !started || ready) continue
      const seenMs = this.#firstSeen.get(containerID)
      // A pod that is over has no probes: the worker sees that and ends.
      if (isTerminalPhase(phase) || findContainer(pod.spec, name)?.startupProbe) worker.trigger()
      else if (seenMs === undefined) {
        this.#firstSeen.set(containerID, machine.monotonic())
        machine.setTimer(SETTLE_MS, () => this.#triggerUnready(worker, containerID), { background: true })
      } else if (machine.monotonic() - seenMs >= SETTLE_MS) worker.trigger()
    }
  }

  close(): void {
    for (const ofPod of this.#workers.values()) for (const worker of ofPod.values()) worker.abandon()
  }

  #start(pod: Pod, container: Container, type: ProbeType): void {
    const { clock, random = Math.random, status, metrics } = this.#options
    const probe = probeOf(container, type)
    const ofPod = this.#workers.get(uidOf(pod)) ?? new Map<string, ProbeWorker>()
    const key = `${container.name}/${type}`
    if (!probe || ofPod.has(key)) return
    this.#workers.set(uidOf(pod), ofPod)
    const known = this.#results[type]
    const seen = new Set<string>()
    const worker = new ProbeWorker({
      pod,
      container,
      type,
      probe,
      clock,
      startInMs: this.#ranBefore(pod, container.name) ? random() * (probe.periodSeconds ?? 10) * 1000 : 0,
      status: () => status(uidOf(pod)),
      adopted: (id) =>
        type !== 'liveness' && this.#ranLongBefore(pod, container.name, id, type) ? 'success' : undefined,
      result: (id) => known.get(id),
      onResult: (id, result) => {
        seen.add(id)
        if (known.get(id) === result) return
        known.set(id, result)
        this.#options.onChange(pod, type, result)
      },
      run: (id, signal) => this.#run({ pod, container, type, probe, containerId: id, signal }),
      onEnd: () => {
        for (const id of seen) {
          known.delete(id)
          this.#answers.forget(id)
          if (type === 'readiness') this.#firstSeen.delete(`containerd://${id}`)
        }
        if (ofPod.get(key) === worker) ofPod.delete(key)
        metrics?.stopped({ pod, container, type })
      },
    })
    ofPod.set(key, worker)
  }

  async #run(probe: ProbeRun): Promise<ProbeResult | undefined> {
    const { clock, metrics } = this.#options
    const beganMs = clock.monotonic()
    const result = await this.#runProbe(probe)
    // A probe without a result is not counted, as upstream.
    if (result === 'success' || result === 'failure')
      metrics?.probed(probe, result, (clock.monotonic() - beganMs) / 1000)
    return result
  }

  /**
   * The containers that a kubelet finds when it starts are not all asked at the same moment. Upstream spreads the first
   * runs of all probes in a kubelet's first period, also of new containers, which then wait for nothing.
   */
  #ranBefore(pod: Pod, name: string): boolean {
    const { startedAt } = this.#told(pod, name)?.state?.running ?? {}
    return startedAt !== undefined && parseTime(startedAt) < this.#beganMs
  }

  /**
   * Returns the result that an earlier kubelet reported about a container that had run for a while before this kubelet
   * started.
   */
  #ranLongBefore(pod: Pod, name: string, id: string, type: 'readiness' | 'startup'): boolean {
    const { startedAt } = this.#told(pod, name)?.state?.running ?? {}
    const isOld = startedAt !== undefined && parseTime(startedAt) + ADOPTED_AFTER_MS < this.#beganMs
    return isOld && this.#saidBefore(pod, name, id, type)
  }

  /**
   * Returns what this kubelet, or the one before it, reported about a container. It holds until a probe has another
   * result.
   */
  #saidBefore(pod: Pod, name: string, id: string, type: 'readiness' | 'startup'): boolean {
    const entry = this.#told(pod, name)
    if (!entry?.containerID?.endsWith(id)) return false
    return (type === 'readiness' ? entry.ready : entry.started) ?? false
  }

  #told(pod: Pod, name: string): ReturnType<typeof findContainerStatus> {
    return findContainerStatus(this.#options.status(uidOf(pod)) ?? pod.status, name)
  }

  /** A container that became ready while it settled waits for its next tick. */
  #triggerUnready(worker: ProbeWorker, containerID: string): void {
    if (this.#results.readiness.get(containerID.replace(/^.*:\/\//, '')) !== 'success') worker.trigger()
  }

  #outcome(pod: Pod, name: string, id: string, type: 'readiness' | 'startup'): boolean {
    const container = findContainer(pod.spec, name)
    if (!container || !probeOf(container, type)) return true
    const result = this.#results[type].get(id)
    if (result !== undefined) return result === 'success'
    // An instance that takes the place of a killed one at once counts as started until its own probe begins.
    if (type === 'startup') return this.#told(pod, name)?.started ?? false
    // As upstream, a container without a worker is ready. The pod still runs here: its deadline has passed.
    if (
      isTerminalPhase(this.#options.status(uidOf(pod))?.phase) &&
      !this.#workers.get(uidOf(pod))?.has(`${name}/${type}`)
    )
      return true
    return this.#saidBefore(pod, name, id, type)
  }
}

const uidOf = ({ metadata }: Pod): string => metadata.uid ?? ''
