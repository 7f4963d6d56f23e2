import type { Pod } from '../../../shared/api/types.ts'
import { parseTime } from '../../../shared/clock/timestamp.ts'
import type { Family } from '../../../shared/metrics/exposition.ts'
import { gauge } from '../../../shared/metrics/series.ts'
import type { ContainerStats, Summary } from '../../stats/summary.ts'
import { findContainerStatus } from '../../status/find-container-status.ts'

interface Told {
  name: string
  type: Family['type']
  help: string
  extra?: Readonly<Record<string, string>>
  value(container: ContainerStats): number
}

/**
 * Lists the metrics of cAdvisor that dashboards of containers read; names and texts are cAdvisor's own
 * (metrics/prometheus.go).
 */
const told: readonly Told[] = [
  {
    name: 'container_cpu_usage_seconds_total',
    type: 'counter',
    help: 'Cumulative cpu time consumed in seconds.',
    extra: { cpu: 'total' },
    value: ({ cpu }) => cpu.usageCoreNanoSeconds / 1e9,
  },
  {
    name: 'container_memory_rss',
    type: 'gauge',
    help: 'Size of RSS in bytes.',
    value: ({ memory }) => memory.rssBytes,
  },
  {
    name: 'container_memory_usage_bytes',
    type: 'gauge',
    help: 'Current memory usage in bytes, including all memory regardless of when it was accessed',
    value: ({ memory }) => memory.usageBytes,
  },
  {
    name: 'container_memory_working_set_bytes',
    type: 'gauge',
    help: 'Current working set in bytes.',
    value: ({ memory }) => memory.workingSetBytes,
  },
  {
    name: 'container_fs_usage_bytes',
    type: 'gauge',
    help: 'Number of bytes that are consumed by the container on this filesystem.',
    extra: { device: '' },
    value: ({ rootfs }) => rootfs.usedBytes,
  },
]

export function cadvisorFamilies(
  summary: Summary,
  { pods, machine, atMs }: { pods: readonly Pod[]; machine: { cpus: number; memoryBytes: number }; atMs: number },
): Family[] {
  const byUid = new Map(pods.map((pod) => [pod.metadata.uid, pod]))
  const containers = summary.pods.flatMap(({ podRef: { name, namespace, uid }, containers }) =>
    containers.map((container) => {
      const status = byUid.get(uid)?.status
      const known = findContainerStatus(status, container.name)
      const id = known?.containerID?.replace(/^.*:\/\//, '') ?? ''
      const labels = {
        id: `/kubepods/pod${uid}/${id}`,
        image: known?.image ?? '',
        name: id,
        container: container.name,
        pod: name,
        namespace,
      }
      return { container, labels }
    }),
  )
  return [
    ...told.map(({ name, type, help, extra, value }): Family => {
      const samples = containers.map(({ container, labels }) => ({
        labels: { ...labels, ...extra },
        value: value(container),
        timestampMs: atMs,
      }))
      return { name, type, help, samples }
    }),
    {
      name: 'container_start_time_seconds',
      type: 'gauge',
      help: 'Start time of the container since unix epoch in seconds.',
      samples: containers.map(({ container, labels }) => ({ labels, value: parseTime(container.startTime) / 1000 })),
    },
    gauge('machine_cpu_cores', 'Number of logical CPU cores.', machine.cpus),
    gauge('machine_memory_bytes', 'Amount of memory installed on the machine.', machine.memoryBytes),
  ]
}
