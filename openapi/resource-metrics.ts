/** `metrics.k8s.io/v1beta1`: what pods and nodes use; upstream: k8s.io/metrics/pkg/apis/metrics/v1beta1. */
import { type AddedField, type AddedGroup, type Addition, addedKind, text } from './addition.ts'

const metrics: AddedGroup = {
  group: 'metrics.k8s.io',
  version: 'v1beta1',
  schemaPackage: 'io.k8s.metrics.pkg.apis.metrics',
}
const containerMetrics = `${metrics.schemaPackage}.${metrics.version}.ContainerMetrics`

const interval: Record<string, AddedField> = {
  timestamp: {
    go: 'Timestamp',
    shape: 'Time',
    goType: 'v1.Time',
    description:
      'The following fields define time interval from which metrics were collected from the interval [Timestamp-Window, Timestamp].',
  },
  window: text('Window', 'Length of the interval that the usage was measured in, such as 15.2s.'),
}
const usage = (whose: string): AddedField => ({
  go: 'Usage',
  shape: '{}Quantity',
  goType: 'v1.ResourceList',
  description: `The CPU and memory that the ${whose} used: CPU as an average over the window, memory as it was at its end.`,
})

/** Adds the types of the resource metrics API, which a real cluster has once metrics-server is installed. */
export const resourceMetrics: Addition[] = [
  ...addedKind(
    'NodeMetrics',
    'NodeMetrics sets resource usage metrics of a node.',
    { ...interval, usage: usage('node') },
    metrics,
  ),
  ...addedKind(
    'PodMetrics',
    'PodMetrics sets resource usage metrics of a pod.',
    {
      ...interval,
      containers: {
        go: 'Containers',
        shape: `[]@${containerMetrics}`,
        goType: '[]v1beta1.ContainerMetrics',
        description: 'Metrics for all containers are collected within the same time window.',
      },
    },
    metrics,
  ),
  {
    type: containerMetrics,
    description: 'ContainerMetrics sets resource usage metrics of a container.',
    fields: {
      name: text('Name', 'Container name corresponding to the one from pod.spec.containers.'),
      usage: usage('container'),
    },
  },
]
