/** Between the version that is stored, v2, and v1, which keeps in annotations what it has no fields for. */
import { parseExact, parseStored, toJson } from '../../../../shared/api/json/exact-json.ts'
import type { KubeObject } from '../../../../shared/api/types.ts'
import { encodeObject } from '../../../kind/encode-object.ts'
import { dump } from '../../../validation/go-dump.ts'
import { behaviorOf, conditionsOf } from './annotations.ts'
import { defaultAutoscaler } from './defaults.ts'
import type { Autoscaler, AutoscalerCondition, AutoscalerV1, Metric } from './types.ts'
import { currentsOfV1, currentsOfV2, metricsOfV1, metricsOfV2 } from './v1-metrics.ts'

const prefix = 'autoscaling.alpha.kubernetes.io/'
const METRICS = `${prefix}metrics`
const BEHAVIOR = `${prefix}behavior`
const CONDITIONS = `${prefix}conditions`
const CURRENT_METRICS = `${prefix}current-metrics`
const annotations = [METRICS, BEHAVIOR, CONDITIONS, CURRENT_METRICS]

const isCpuShare = ({ resource }: Metric): boolean =>
  resource?.name === 'cpu' && resource.target.averageUtilization !== undefined

function toV1({ metadata, spec, status }: Autoscaler): AutoscalerV1 {
  const { metrics = [], behavior, ...rest } = spec ?? { maxReplicas: 0, scaleTargetRef: { kind: '', name: '' } }
  const cpu = metrics.find(isCpuShare)
  const others = metrics.filter((metric) => !isCpuShare(metric))
  const { conditions = [], currentMetrics, ...counts } = status ?? {}
  const currentCpu = currentMetrics?.findLast(({ resource }) => resource?.name === 'cpu')?.resource?.current
  const kept: [string, unknown][] = [
    [METRICS, others.length > 0 ? metricsOfV1(others) : undefined],
    // Upstream writes the fields as Go calls them, and its conditions always have a time.
    [BEHAVIOR, behavior && dump('io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerBehavior', behavior)],
    [CONDITIONS, conditions.length > 0 ? conditions.map(withTime) : undefined],
    [CURRENT_METRICS, currentMetrics?.length ? currentsOfV1(currentMetrics) : undefined],
  ]
  const texts = kept.filter(([, value]) => value !== undefined).map(([key, value]) => [key, toJson(value)])
  const all = { ...metadata.annotations, ...Object.fromEntries(texts) }
  const averageUtilization = cpu?.resource?.target.averageUtilization
  return {
    metadata: { ...metadata, annotations: Object.keys(all).length > 0 ? all : undefined },
    spec: { ...rest, ...(averageUtilization !== undefined && { targetCPUUtilizationPercentage: averageUtilization }) },
    status: {
      currentReplicas: 0,
      desiredReplicas: 0,
      ...counts,
      ...(currentCpu?.averageUtilization !== undefined && {
        currentCPUUtilizationPercentage: currentCpu.averageUtilization,
      }),
    },
  }
}

export function toV2({ metadata, spec, status }: AutoscalerV1): Autoscaler {
  const own = metadata.annotations ?? {}
  const { targetCPUUtilizationPercentage: cpu, ...rest } = spec ?? {
    maxReplicas: 0,
    scaleTargetRef: { kind: '', name: '' },
  }
  const { currentCPUUtilizationPercentage: currentCpu, ...counts } = status ?? {}
  const others = Object.fromEntries(Object.entries(own).filter(([key]) => !annotations.includes(key)))
  const metrics: Metric[] = [
    ...(cpu === undefined
      ? []
      : [
          {
            type: 'Resource',
            resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: cpu } },
          },
        ]),
  ]
  // Upstream puts the share of CPU behind the others.
  metrics.unshift(...(parsed(own[METRICS], metricsOfV2) ?? []))
  const behavior = parsed(own[BEHAVIOR], behaviorOf)
  const conditions = parsed(own[CONDITIONS], conditionsOf)
  const ofCpu = { type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: currentCpu } } }
  const currentMetrics = parsed(own[CURRENT_METRICS], currentsOfV2) ?? (currentCpu === undefined ? [] : [ofCpu])
  const converted: Autoscaler = {
    metadata: { ...metadata, annotations: Object.keys(others).length > 0 ? others : undefined },
    spec: { ...rest, ...(metrics.length > 0 && { metrics }), ...(behavior && { behavior }) },
    status: {
      ...counts,
      currentReplicas: counts.currentReplicas || undefined,
      ...(conditions && { conditions }),
      currentMetrics: (currentMetrics.length > 0 ? currentMetrics : null) as NonNullable<
        Autoscaler['status']
      >['currentMetrics'],
    },
  }
  defaultAutoscaler(converted)
  return converted
}

/** Gives an object of v1 what a conversion leaves: the default share of CPU, and the annotations that make sense. */
export function settleV1(object: AutoscalerV1): void {
  const { metadata, spec } = toV1(toV2(object))
  if (object.spec) object.spec.targetCPUUtilizationPercentage = spec?.targetCPUUtilizationPercentage
  if (metadata.annotations) object.metadata.annotations = metadata.annotations
  else delete object.metadata.annotations
}

/** Returns what an annotation holds; undefined if it is not there or makes no sense, as clients may write anything. */
function parsed<T>(text: string | undefined, read: (value: unknown) => T): T | undefined {
  if (text === undefined) return undefined
  try {
    return read(parseExact(text))
  } catch {
    return undefined
  }
}

const withTime = ({ type, status, lastTransitionTime, ...rest }: AutoscalerCondition) => ({
  type,
  status,
  lastTransitionTime: lastTransitionTime ?? null,
  ...rest,
})

/** Parts of objects, as field management passes them around, may lack their metadata. */
const complete = (object: KubeObject): KubeObject => ({ ...object, metadata: object.metadata ?? {} })
export const asV1 = (object: KubeObject): KubeObject =>
  toV1(complete(object) as unknown as Autoscaler) as unknown as KubeObject
export const asV2 = (object: KubeObject): KubeObject =>
  toV2(complete(object) as unknown as AutoscalerV1) as unknown as KubeObject

/** Keeps what annotations of the old object say of its status, which a write of the object does not change. */
export function keepStatusAnnotations({ metadata }: AutoscalerV1, old?: AutoscalerV1): void {
  for (const key of [CONDITIONS, CURRENT_METRICS]) {
    const kept = old?.metadata.annotations?.[key]
    if (kept !== undefined) metadata.annotations = { ...metadata.annotations, [key]: kept }
    else delete metadata.annotations?.[key]
  }
}

export const v1Conversion = {
  present: ({ value }: { value: string }): string =>
    encodeObject(toV1(parseStored(value) as Autoscaler) as unknown as KubeObject),
  toStorage(object: KubeObject): void {
    Object.assign(object, toV2(object as unknown as AutoscalerV1))
  },
}
