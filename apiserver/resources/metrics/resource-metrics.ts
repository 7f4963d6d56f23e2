/** `metrics.k8s.io`: what nodes and pods use. Nothing of it is stored. */
import { quantityMilliValue, quantityValue } from '../../../shared/api/quantities/quantity.ts'
import type { ObjectMeta } from '../../../shared/api/types.ts'
import { column, nameColumn } from '../../kind/cells.ts'
import { type ResourceDefinition, resource } from '../../kind/resource-definition.ts'

interface ResourceUsage {
  cpu: string
  memory: string
}
interface Interval {
  metadata: ObjectMeta
  timestamp: string
  /** Length of the interval, such as `15.2s`. */
  window: string
}
export interface NodeMetrics extends Interval {
  usage: ResourceUsage
}
export interface ContainerMetrics {
  name: string
  usage: ResourceUsage
}
export interface PodMetrics extends Interval {
  containers: ContainerMetrics[]
}

const common = {
  group: 'metrics.k8s.io',
  version: 'v1beta1',
  singular: '',
  verbs: ['get', 'list'] as ('get' | 'list')[],
  virtual: true,
  strategy: {},
  columns: [
    nameColumn,
    column('CPU', 'CPU that was used on average, in thousandths of a core.'),
    column('Memory', 'Memory that was used.'),
    column('Window', 'How long it was measured.'),
  ],
}
const names = (kind: string) => ({ kind, schema: `io.k8s.metrics.pkg.apis.metrics.v1beta1.${kind}` })
const interval = { timestamp: '2026-01-02T03:04:05Z', window: '15s' }
const used = { cpu: '12500000n', memory: '20480Ki' }

const nodes = resource<NodeMetrics>({
  ...common,
  ...names('NodeMetrics'),
  plural: 'nodes',
  cells: (metrics) => cells(metrics, [metrics.usage]),
  example: {
    metadata: { name: 'node-1' },
    ...interval,
    usage: used,
  } as NodeMetrics,
})
const pods = resource<PodMetrics>({
  ...common,
  ...names('PodMetrics'),
  plural: 'pods',
  namespaced: true,
  cells: (metrics) =>
    cells(
      metrics,
      metrics.containers.map(({ usage }) => usage),
    ),
  example: {
    metadata: { name: 'web' },
    ...interval,
    containers: [{ name: 'web', usage: used }],
  } as PodMetrics,
})

export const resourceMetrics: ResourceDefinition[] = [nodes, pods]

function cells({ metadata, window }: Interval, usages: readonly ResourceUsage[]): unknown[] {
  const sum = (of: (usage: ResourceUsage) => number): number => usages.reduce((total, usage) => total + of(usage), 0)
  const memoryKi = sum(({ memory }) => quantityValue(memory)) / 1024
  return [metadata.name, `${sum(({ cpu }) => quantityMilliValue(cpu))}m`, `${Math.ceil(memoryKi)}Ki`, window]
}
