import type { KubeObject } from '../../../../shared/api/types.ts'
import { age, ageColumn, column, nameColumn } from '../../../kind/cells.ts'
import type { ResourceDefinition } from '../../../kind/resource-definition.ts'
import { zeroOf } from '../../../validation/decoder.ts'
import { withEmptied } from '../../../validation/emptied.ts'
import { plain } from '../../parts/plain.ts'
import { asV1, asV2, keepStatusAnnotations, settleV1, toV2, v1Conversion } from './conversion.ts'
import { defaultAutoscaler } from './defaults.ts'
import type { Autoscaler, AutoscalerV1, Metric } from './types.ts'
import { validateAutoscaler } from './validate.ts'

const names = {
  group: 'autoscaling',
  kind: 'HorizontalPodAutoscaler',
  plural: 'horizontalpodautoscalers',
  namespaced: true,
  shortNames: ['hpa'],
  categories: ['all'],
  storageVersion: 'v2',
  columns: [
    nameColumn,
    column('Reference', 'What it scales.'),
    column('Targets', 'Metrics as they are, and as they should be.'),
    column('MinPods', 'Pods that there are at least.'),
    column('MaxPods', 'Pods that there are at most.'),
    column('Replicas', 'Pods that there are.'),
    ageColumn,
  ],
  hasStatus: true,
}
const reference = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }

const v2 = plain<Autoscaler>({
  ...names,
  version: 'v2',
  cells,
  strategy: {
    // Rules with `policies: []` get no default, and are refused.
    applyDefaults: (object) =>
      withEmptied(
        object,
        () => defaultAutoscaler(object),
        ({ name }) => name === 'policies',
      ),
    validate: (object, errors) => validateAutoscaler(object, errors),
    validateUpdate(object, old, errors, { subresource }) {
      if (subresource !== 'status') validateAutoscaler(object, errors, old)
    },
  },
  example: { metadata: { name: 'web' }, spec: { scaleTargetRef: reference, maxReplicas: 3 } },
})

const v1 = plain<AutoscalerV1>({
  ...names,
  cells: (object, nowMs) => cells(toV2(object), nowMs),
  strategy: {
    applyDefaults(object) {
      const { spec } = object
      if (!spec) return
      spec.minReplicas ??= 1
      settleV1(object)
    },
    prepareForCreate(object) {
      object.status = zeroOf('io.k8s.api.autoscaling.v1.HorizontalPodAutoscalerStatus')
      keepStatusAnnotations(object)
    },
    prepareForUpdate(object, old, { subresource }) {
      if (!subresource) keepStatusAnnotations(object, old)
    },
    validate: (object, errors) => validateAutoscaler(toV2(object), errors),
    validateUpdate(object, old, errors, { subresource }) {
      if (subresource !== 'status') validateAutoscaler(toV2(object), errors, toV2(old))
    },
  },
  example: {
    metadata: { name: 'web' },
    spec: { scaleTargetRef: reference, maxReplicas: 3, targetCPUUtilizationPercentage: 50 },
  },
})

/** The first is the one that is stored. */
export const horizontalpodautoscaler: ResourceDefinition[] = [
  { ...v2, siblings: { 'autoscaling/v1': { schema: v1.schema, convert: asV1, convertBack: asV2 } } },
  {
    ...v1,
    conversion: v1Conversion,
    siblings: { 'autoscaling/v2': { schema: v2.schema, convert: asV2, convertBack: asV1 } },
  },
]

function cells({ metadata, spec, status }: Pick<KubeObject, 'metadata'> & Autoscaler, nowMs: number): unknown[] {
  const { kind = '', name = '' } = spec?.scaleTargetRef ?? {}
  return [
    metadata.name,
    `${kind}/${name}`,
    targetsText(spec?.metrics ?? [], status?.currentMetrics ?? []),
    String(spec?.minReplicas ?? '<unset>'),
    spec?.maxReplicas ?? 0,
    status?.currentReplicas ?? 0,
    age(metadata.creationTimestamp, nowMs),
  ]
}

type Current = NonNullable<NonNullable<Autoscaler['status']>['currentMetrics']>[number]
const UNKNOWN = '<unknown>'
const SHOWN = 2
function targetsText(metrics: Metric[], currents: Current[]): string {
  if (metrics.length === 0) return '<none>'
  const texts = metrics.slice(0, SHOWN).map((metric, index) => targetText(metric, currents[index]))
  const more = metrics.length - SHOWN
  return more > 0 ? `${texts.join(', ')} + ${more} more...` : texts.join(', ')
}

function targetText(metric: Metric, current: Current | undefined): string {
  const resource = metric.resource ?? metric.containerResource
  if (resource) {
    const now = (metric.resource ? current?.resource : current?.containerResource)?.current
    const { averageValue, averageUtilization } = resource.target
    if (averageValue !== undefined) return `${resource.name}: ${now?.averageValue ?? UNKNOWN}/${averageValue}`
    const share = now?.averageUtilization === undefined ? UNKNOWN : `${now.averageUtilization}%`
    return `${resource.name}: ${share}/${averageUtilization === undefined ? '<auto>' : `${averageUtilization}%`}`
  }
  if (metric.pods) return `${current?.pods?.current.averageValue ?? UNKNOWN}/${metric.pods.target.averageValue ?? '0'}`
  const source = metric.object ?? metric.external
  const now = (metric.object ? current?.object : current?.external)?.current
  const { averageValue, value } = source?.target ?? {}
  if (averageValue !== undefined) return `${now?.averageValue ?? UNKNOWN}/${averageValue} (avg)`
  return `${now?.value ?? UNKNOWN}/${value ?? '0'}`
}
