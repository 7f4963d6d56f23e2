import type { Pod } from '../../shared/api/types.ts'
import type { Family } from '../../shared/metrics/exposition.ts'
import { Counters, defaultBuckets, Histograms } from '../../shared/metrics/series.ts'
import { type ProbeType, titleOf } from '../pod/probe-types.ts'

export interface ProbedContainer {
  pod: Pod
  container: { name: string }
  type: ProbeType
}

/**
 * `/metrics/probes`: a series lives as long as the probe of its container; upstream:
 * pkg/kubelet/prober/prober_manager.go.
 */
export class ProbeMetrics {
  readonly #results = new Counters({
    name: 'prober_probe_total',
    help: '[BETA] Cumulative number of a liveness, readiness or startup probe for a container by result.',
    labels: ['probe_type', 'result', 'container', 'pod', 'namespace', 'pod_uid'],
  })
  readonly #durations = new Histograms({
    name: 'prober_probe_duration_seconds',
    help: '[ALPHA] Duration in seconds for a probe response.',
    labels: ['probe_type', 'container', 'pod', 'namespace'],
    buckets: defaultBuckets,
  })

  probed(probe: ProbedContainer, result: 'success' | 'failure', seconds: number): void {
    const succeeded = result === 'success'
    const pod_uid = probe.pod.metadata.uid ?? ''
    this.#results.add({ ...labelsOf(probe), pod_uid, result: succeeded ? 'successful' : 'failed' })
    if (succeeded) this.#durations.observe(labelsOf(probe), seconds)
  }

  stopped(probe: ProbedContainer): void {
    this.#results.delete({ ...labelsOf(probe), pod_uid: probe.pod.metadata.uid ?? '' })
    this.#durations.delete(labelsOf(probe))
  }

  families = (): Family[] => [this.#results.family(), this.#durations.family()]
}

const labelsOf = ({ pod: { metadata }, container, type }: ProbedContainer) => ({
  probe_type: titleOf(type),
  container: container.name,
  pod: metadata.name ?? '',
  namespace: metadata.namespace ?? '',
})
