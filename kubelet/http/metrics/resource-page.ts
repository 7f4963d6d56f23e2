import { parseTime } from '../../../shared/clock/timestamp.ts'
import type { Family, Sample } from '../../../shared/metrics/exposition.ts'
import { gauge } from '../../../shared/metrics/series.ts'
import type { ContainerStats, CpuStats, MemoryStats, PodStats, Summary } from '../../stats/summary.ts'

type Labels = Readonly<Record<string, string>>

/**
 * Returns the metrics that a metrics server reads. Upstream: pkg/kubelet/metrics/collectors/resource_metrics.go. `atMs`
 * is the time of the measurement.
 */
export function resourceFamilies({ node, pods }: Summary, atMs: number): Family[] {
  const cpu = (stats: CpuStats, labels?: Labels): Sample => ({
    labels,
    value: stats.usageCoreNanoSeconds / 1e9,
    timestampMs: atMs,
  })
  const memory = (stats: MemoryStats, labels?: Labels): Sample => ({
    labels,
    value: stats.workingSetBytes,
    timestampMs: atMs,
  })
  const ofPods = (sample: (pod: PodStats, labels: Labels) => Sample): Sample[] =>
    pods.map((pod) => sample(pod, labelsOf(pod)))
  const ofContainers = (sample: (container: ContainerStats, labels: Labels) => Sample): Sample[] =>
    pods.flatMap((pod) =>
      pod.containers.map((container) => sample(container, { container: container.name, ...labelsOf(pod) })),
    )
  return [
    {
      name: 'node_cpu_usage_seconds_total',
      type: 'counter',
      help: '[STABLE] Cumulative cpu time consumed by the node in core-seconds',
      samples: node.cpu ? [cpu(node.cpu)] : [],
    },
    {
      name: 'node_memory_working_set_bytes',
      type: 'gauge',
      help: '[STABLE] Current working set of the node in bytes',
      samples: node.memory ? [memory(node.memory)] : [],
    },
    {
      name: 'container_start_time_seconds',
      type: 'gauge',
      help: '[STABLE] Start time of the container since unix epoch in seconds',
      samples: ofContainers(({ startTime }, labels) => ({ labels, value: parseTime(startTime) / 1000 })),
    },
    {
      name: 'container_cpu_usage_seconds_total',
      type: 'counter',
      help: '[STABLE] Cumulative cpu time consumed by the container in core-seconds',
      samples: ofContainers((container, labels) => cpu(container.cpu, labels)),
    },
    {
      name: 'container_memory_working_set_bytes',
      type: 'gauge',
      help: '[STABLE] Current working set of the container in bytes',
      samples: ofContainers((container, labels) => memory(container.memory, labels)),
    },
    {
      name: 'pod_cpu_usage_seconds_total',
      type: 'counter',
      help: '[STABLE] Cumulative cpu time consumed by the pod in core-seconds',
      samples: ofPods((pod, labels) => cpu(pod.cpu, labels)),
    },
    {
      name: 'pod_memory_working_set_bytes',
      type: 'gauge',
      help: '[STABLE] Current working set of the pod in bytes',
      samples: ofPods((pod, labels) => memory(pod.memory, labels)),
    },
    gauge('resource_scrape_error', '[STABLE] 1 if there was an error while getting container metrics, 0 otherwise', 0),
  ]
}

const labelsOf = ({ podRef: { name, namespace } }: PodStats): Labels => ({ pod: name, namespace })
