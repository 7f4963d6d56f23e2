import { LOAD_ANNOTATION, parseSetUsage, type SetUsage, USAGE_ANNOTATION } from '../../../shared/api/pods/set-usage.ts'
import { quantityMilliValue, quantityValue } from '../../../shared/api/quantities/quantity.ts'
import type { ObjectMeta, Pod } from '../../../shared/api/types.ts'
import { toTime } from '../../../shared/clock/timestamp.ts'
import type { ContainerMetrics, NodeMetrics, PodMetrics } from '../../resources/metrics/resource-metrics.ts'
import type { Usage } from './usage-meter.ts'

/** An object that a pod belongs to, directly or not. */
export interface Owner {
  metadata: ObjectMeta
  runningPods: number
}
export interface PodSources {
  pod: Pod
  /** Maps containers to their measured usage. Absent if the kubelet did not report it. */
  measured: ReadonlyMap<string, Usage> | undefined
  /** Lists the nearest first: a ReplicaSet, then its Deployment. */
  owners: readonly Owner[]
  nowMs: number
}

/** The window of usage that was set: nothing older is in it. */
const setWindowMs = 1_000

/**
 * Returns what a pod uses, as `kubectl top` and autoscalers read it: what was set for it, or for what it belongs to, else
 * what its kubelet measured. Undefined for a pod of which nothing is known. Pure.
 */
export function podMetrics({ pod, measured, owners, nowMs }: PodSources): PodMetrics | undefined {
  const set = setUsageOf(pod, owners)
  const isSet = set.cpuNanoCores !== undefined || set.memoryBytes !== undefined
  if (!isSet && !measured?.size) return undefined
  const { name, namespace, labels } = pod.metadata
  const containers = pod.spec.containers.flatMap(({ name }, index): ContainerMetrics[] => {
    const found = measured?.get(name)
    if (!found && !isSet) return []
    // What is set is the pod's: its first container has all of it.
    const own = index === 0 ? set : { cpuNanoCores: isSetTo(set.cpuNanoCores), memoryBytes: isSetTo(set.memoryBytes) }
    return [
      {
        name,
        usage: usage({
          cpuNanoCores: own.cpuNanoCores ?? found?.cpuNanoCores ?? 0,
          memoryBytes: own.memoryBytes ?? found?.memoryBytes ?? 0,
        }),
      },
    ]
  })
  if (containers.length === 0) return undefined
  const windowMs = isSet ? setWindowMs : Math.max(...[...(measured?.values() ?? [])].map(({ windowMs }) => windowMs))
  return {
    metadata: { name, namespace, creationTimestamp: toTime(nowMs), ...(labels && { labels }) },
    timestamp: toTime(nowMs),
    window: seconds(windowMs),
    containers,
  }
}

/** The other containers of a pod use nothing of a resource that is set. */
const isSetTo = (value: number | undefined): number | undefined => (value === undefined ? undefined : 0)

/** Returns what a node uses. Pure. */
export const nodeMetrics = ({ name, labels }: ObjectMeta, measured: Usage, nowMs: number): NodeMetrics => ({
  metadata: { name, creationTimestamp: toTime(nowMs), ...(labels && { labels }) },
  timestamp: toTime(nowMs),
  window: seconds(measured.windowMs),
  usage: usage(measured),
})

/** Writes amounts as metrics-server does. */
const usage = ({ cpuNanoCores, memoryBytes }: Pick<Usage, 'cpuNanoCores' | 'memoryBytes'>) => ({
  cpu: `${cpuNanoCores}n`,
  memory: `${Math.ceil(memoryBytes / 1024)}Ki`,
})
const seconds = (ms: number): string => `${Math.round(ms) / 1_000}s`

type SetValues = Partial<Pick<Usage, 'cpuNanoCores' | 'memoryBytes'>>

/** The nearest setting of a resource counts: the pod's own, then those of its owners; of one object its load first. */
function setUsageOf(pod: Pod, owners: readonly Owner[]): SetValues {
  const settings = [
    valuesOf(parseSetUsage(pod.metadata.annotations?.[USAGE_ANNOTATION]), 1),
    ...owners.flatMap((owner) => [
      loadOf(owner),
      valuesOf(parseSetUsage(owner.metadata.annotations?.[USAGE_ANNOTATION]), 1),
    ]),
  ]
  return Object.assign({}, ...settings.toReversed())
}

/** Returns the set load of an owner; its pods are counted only if they share it. */
function loadOf(owner: Owner): SetValues {
  const load = owner.metadata.annotations?.[LOAD_ANNOTATION]
  return load === undefined ? {} : valuesOf(parseSetUsage(load), Math.max(1, owner.runningPods))
}

const valuesOf = ({ cpu, memory }: SetUsage, pods: number): SetValues => ({
  ...(cpu !== undefined && { cpuNanoCores: Math.round((quantityMilliValue(cpu) * 1e6) / pods) }),
  ...(memory !== undefined && { memoryBytes: quantityValue(memory) / pods }),
})
