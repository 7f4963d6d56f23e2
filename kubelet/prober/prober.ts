import type { Container, Pod, PodStatus } from '../../shared/api/types.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { parseTime } from '../../shared/clock/timestamp.ts'
import type { ProbeMetrics } from '../metrics/probe-metrics.ts'
import { allContainers, findContainer } from '../pod/container-kinds.ts'
import type { ProbeVerdicts } from '../pods/pod-needs.ts'
import type { ProbeResults } from '../status/container-statuses.ts'
import { toldContainer } from '../status/told-container.ts'
import { PROBE_TYPES, type ProbeResult, type ProbeType, probeOf } from './probe-types.ts'
import { hasEndedForGood, ProbeWorker } from './probe-worker.ts'
import { createRunProbe, type ProbeRunOptions } from './run-probe.ts'

/** All probes of all pods on the node. */
export interface Prober {
  /** Idempotent; called before the containers exist. */
  add(pod: Pod): void
  /** A deleted pod is not restarted: only readiness still counts, and all probes of sidecars. */
  stopKilling(pod: Pod): void
  remove(podUid: string): void
  results(pod: Pod): ProbeResults
  readonly verdicts: ProbeVerdicts
  /** A status was told: a container that has started but is not ready is probed at once, or when it has settled. */
  statusTold(pod: Pod, status: PodStatus): void
  close(): void
}

export interface ProberOptions extends ProbeRunOptions {
  clock: Clock
  /** A result that holds has changed. */
  onChange(pod: Pod, type: ProbeType, result: ProbeResult): void
  metrics?: ProbeMetrics
  random?(): number
}

/**
 * How long a container is left alone before its first readiness probe. Upstream needs about so long to notice that it
 * runs; asked sooner, hardly a server listens yet, and would be asked again only a whole period later.
 */
const SETTLE_MS = 500
/** A container that is younger than this when the kubelet starts is probed again from the beginning. */
const ADOPTED_AFTER_MS = 10_000

export function createProber(options: ProberOptions): Prober {
  const { clock, status, random = Math.random } = options
  const workers = new Map<string, Map<string, ProbeWorker>>()
  const results: Record<ProbeType, Map<string, ProbeResult>> = {
    liveness: new Map(),
    readiness: new Map(),
    startup: new Map(),
  }
  const firstSeen = new Map<string, number>()
  const runProbe = createRunProbe(options)
  const beganMs = clock.now()

  /**
   * The containers that a kubelet finds when it starts are not all asked at the same moment. Upstream spreads the first
   * runs of all probes in a kubelet's first period, also of new containers, which then wait for nothing.
   */
  const ranBefore = (pod: Pod, name: string): boolean => {
    const { startedAt } = toldContainer(status(uidOf(pod)) ?? pod.status, name)?.state?.running ?? {}
    return startedAt !== undefined && parseTime(startedAt) < beganMs
  }

  function start(pod: Pod, container: Container, type: ProbeType): void {
    const probe = probeOf(container, type)
    const ofPod = workers.get(uidOf(pod)) ?? new Map<string, ProbeWorker>()
    const key = `${container.name}/${type}`
    if (!probe || ofPod.has(key)) return
    workers.set(uidOf(pod), ofPod)
    const known = results[type]
    const seen = new Set<string>()
    const worker = new ProbeWorker({
      pod,
      container,
      type,
      probe,
      clock,
      startInMs: ranBefore(pod, container.name) ? random() * (probe.periodSeconds ?? 10) * 1000 : 0,
      status: () => status(uidOf(pod)),
      adopted: (id) => (type !== 'liveness' && ranLongBefore(pod, container.name, id, type) ? 'success' : undefined),
      result: (id) => known.get(id),
      onResult(id, result) {
        seen.add(id)
        if (known.get(id) === result) return
        known.set(id, result)
        options.onChange(pod, type, result)
      },
      async run(id) {
        const beganMs = clock.monotonic()
        const result = await runProbe({ pod, container, type, probe, containerId: id })
        // What could not be told is thrown away, as upstream does.
        if (result === 'success' || result === 'failure')
          options.metrics?.probed({ pod, container, type }, result, (clock.monotonic() - beganMs) / 1000)
        return result
      },
      onEnd() {
        for (const id of seen) {
          known.delete(id)
          if (type === 'readiness') firstSeen.delete(`containerd://${id}`)
        }
        if (ofPod.get(key) === worker) ofPod.delete(key)
        options.metrics?.stopped({ pod, container, type })
      },
    })
    ofPod.set(key, worker)
  }

  /** What this kubelet, or the one before it, told of a container holds until a probe says otherwise. */
  const saidBefore = (pod: Pod, name: string, id: string, type: 'readiness' | 'startup'): boolean => {
    const entry = toldContainer(status(uidOf(pod)) ?? pod.status, name)
    if (!entry?.containerID?.endsWith(id)) return false
    return (type === 'readiness' ? entry.ready : entry.started) ?? false
  }

  /** Of a container that a kubelet before this one looked after, its word is taken. */
  const ranLongBefore = (pod: Pod, name: string, id: string, type: 'readiness' | 'startup'): boolean => {
    const { startedAt } = toldContainer(status(uidOf(pod)) ?? pod.status, name)?.state?.running ?? {}
    const isOld = startedAt !== undefined && parseTime(startedAt) + ADOPTED_AFTER_MS < beganMs
    return isOld && saidBefore(pod, name, id, type)
  }

  /** A container that became ready while it settled waits for its next tick. */
  const triggerUnready = (worker: ProbeWorker, containerID: string): void => {
    if (results.readiness.get(containerID.replace(/^.*:\/\//, '')) !== 'success') worker.trigger()
  }

  const outcome = (pod: Pod, name: string, id: string, type: 'readiness' | 'startup'): boolean => {
    const container = findContainer(pod.spec, name)
    if (!container || !probeOf(container, type)) return true
    const result = results[type].get(id)
    if (result !== undefined) return result === 'success'
    // An instance that takes the place of a killed one at once counts as started until its own probe begins.
    if (type === 'startup') return toldContainer(status(uidOf(pod)) ?? pod.status, name)?.started ?? false
    return saidBefore(pod, name, id, type)
  }

  return {
    add(pod) {
      for (const container of allContainers(pod.spec)) {
        if (hasEndedForGood(pod, container, status(uidOf(pod)))) continue
        for (const type of PROBE_TYPES) start(pod, container, type)
      }
    },
    stopKilling(pod) {
      for (const container of pod.spec.containers) {
        for (const type of ['liveness', 'startup']) workers.get(uidOf(pod))?.get(`${container.name}/${type}`)?.stop()
      }
    },
    remove(podUid) {
      for (const worker of workers.get(podUid)?.values() ?? []) worker.stop()
      workers.delete(podUid)
    },
    results: (pod) => ({
      started: (name, id) => outcome(pod, name, id, 'startup'),
      ready: (name, id) => outcome(pod, name, id, 'readiness'),
    }),
    verdicts: {
      livenessFailed: (id) => results.liveness.get(id) === 'failure',
      startup: (id) => results.startup.get(id) ?? 'unknown',
    },
    statusTold(pod, { containerStatuses = [], initContainerStatuses = [] }) {
      for (const { name, started, ready, containerID = '' } of [...containerStatuses, ...initContainerStatuses]) {
        const worker = workers.get(uidOf(pod))?.get(`${name}/readiness`)
        if (!worker || !started || ready) continue
        const seenMs = firstSeen.get(containerID)
        if (findContainer(pod.spec, name)?.startupProbe) worker.trigger()
        else if (seenMs === undefined) {
          firstSeen.set(containerID, clock.machine.monotonic())
          clock.machine.setTimer(SETTLE_MS, () => triggerUnready(worker, containerID), { background: true })
        } else if (clock.machine.monotonic() - seenMs >= SETTLE_MS) worker.trigger()
      }
    },
    close() {
      for (const ofPod of workers.values()) for (const worker of ofPod.values()) worker.stop()
    },
  }
}

const uidOf = ({ metadata }: Pod): string => metadata.uid ?? ''
