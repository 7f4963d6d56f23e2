/** Between the version that is stored, v2, and v1, which keeps in annotations what it has no fields for. */
import { parseExact, parseStored, toJson } from '../../../../shared/api/json/exact-json.ts'
import type { KubeObject } from '../../../../shared/api/types.ts'
import { encodeObject } from '../../../kind/encode-object.ts'
import { defaultAutoscaler } from './defaults.ts'
import type { Autoscaler, AutoscalerV1, Metric } from './types.ts'

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
  const others = metrics.filter((metric) => metric !== cpu)
  const { conditions = [], currentMetrics, ...counts } = status ?? {}
  const currentCpu = currentMetrics?.find(({ resource }) => resource?.name === 'cpu')?.resource?.current
  const currentOthers = (currentMetrics ?? []).filter(({ resource }) => resource?.name !== 'cpu')
  const kept: [string, unknown][] = [
    [METRICS, others.length > 0 ? others : undefined],
    [BEHAVIOR, behavior],
    [CONDITIONS, conditions.length > 0 ? conditions : undefined],
    [CURRENT_METRICS, currentOthers.length > 0 ? currentOthers : undefined],
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
    ...((parsed(own[METRICS]) as Metric[] | undefined) ?? []),
  ]
  const behavior = parsed(own[BEHAVIOR]) as NonNullable<Autoscaler['spec']>['behavior']
  const conditions = parsed(own[CONDITIONS]) as NonNullable<Autoscaler['status']>['conditions']
  const currentOthers = (parsed(own[CURRENT_METRICS]) as object[] | undefined) ?? []
  const currentMetrics = [
    ...(currentCpu === undefined
      ? []
      : [{ type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: currentCpu } } }]),
    ...currentOthers,
  ]
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

/** Clients may write anything into an annotation. */
function parsed(text: string | undefined): unknown {
  if (text === undefined) return undefined
  try {
    return parseExact(text)
  } catch {
    return undefined
  }
}

/** Parts of objects, as field management passes them around, may lack their metadata. */
const complete = (object: KubeObject): KubeObject => ({ ...object, metadata: object.metadata ?? {} })
export const asV1 = (object: KubeObject): KubeObject =>
  toV1(complete(object) as unknown as Autoscaler) as unknown as KubeObject
export const asV2 = (object: KubeObject): KubeObject =>
  toV2(complete(object) as unknown as AutoscalerV1) as unknown as KubeObject

export const v1Conversion = {
  present: ({ value }: { value: string }): string =>
    encodeObject(toV1(parseStored(value) as Autoscaler) as unknown as KubeObject),
  toStorage(object: KubeObject): void {
    Object.assign(object, toV2(object as unknown as AutoscalerV1))
  },
}
