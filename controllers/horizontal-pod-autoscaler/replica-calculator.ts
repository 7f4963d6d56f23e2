/** Computes how many replicas a metric asks for. Pure; upstream: pkg/controller/podautoscaler/replica_calculator.go. */
import { quantityMilliValue } from '../../shared/api/quantities/quantity.ts'
import { parseTime } from '../../shared/clock/timestamp.ts'
import type { TrimmedPod } from '../informers/trimmed-pod.ts'
import type { AutoscalerSettings } from './types.ts'

/** The metric of one pod: its value in thousandths, and the time that it was measured in, in milliseconds. */
export interface PodMetric {
  value: number
  timestampMs: number
  windowMs: number
}
export type PodMetrics = ReadonlyMap<string, PodMetric>

export interface Tolerances {
  scaleDown: number
  scaleUp: number
}
export interface Proposal {
  replicas: number
  /** Each pod uses as much on average, in thousandths. */
  usage: number
  /** The usage is so many percent of what was requested. */
  utilization?: number
}
export interface Situation {
  pods: readonly TrimmedPod[]
  currentReplicas: number
  tolerances: Tolerances
  settings: Pick<AutoscalerSettings, 'cpuInitializationPeriodMs' | 'initialReadinessDelayMs'>
  nowMs: number
}

const isWithin = ({ scaleDown, scaleUp }: Tolerances, ratio: number): boolean =>
  1 - scaleDown <= ratio && ratio <= 1 + scaleUp

/** The largest int32: no proposal is larger. */
const maxReplicas = 2 ** 31 - 1
const unready = 'did not receive metrics for targeted pods (pods might be unready)'

/** Returns the proposal for a utilization in percent of the pods' requests. Throws an Error with upstream's message. */
export function replicasForUtilization(
  situation: Situation,
  metrics: PodMetrics,
  { resource, container, target }: { resource: string; container: string; target: number },
): Proposal {
  const pods = requirePods(situation.pods)
  // Only asked for when there are metrics: their absence is the first thing to tell.
  let found: Map<string, number> | undefined
  const requests = (): Map<string, number> => {
    found ??= new Map(pods.map((pod) => [pod.metadata.name ?? '', requestOf(pod, container, resource)]))
    return found
  }
  // A missing pod is taken to use all that it asked for, or the target if this is more.
  const whileMissing = (name: string): number => Math.trunc(((requests().get(name) ?? 0) * Math.max(100, target)) / 100)
  const ratioOf = (counted: PodMetrics) => utilizationOf(counted, requests(), target)
  return propose(situation, metrics, { resource, ratioOf, whileMissing })
}

/** Returns the proposal for an average value of each pod, in thousandths. */
export function replicasForAverage(
  situation: Situation,
  metrics: PodMetrics,
  { resource, target }: { resource: string; target: number },
): Proposal {
  requirePods(situation.pods)
  const ratioOf = (counted: PodMetrics) => {
    const usage = Math.trunc(sum(counted) / counted.size)
    return { ratio: usage / target, usage }
  }
  return propose(situation, metrics, { resource, ratioOf, whileMissing: () => target })
}

interface Ratio {
  ratio: number
  usage: number
  utilization?: number
}

function propose(
  { pods, currentReplicas, tolerances, ...situation }: Situation,
  metrics: PodMetrics,
  rules: { resource: string; ratioOf(counted: PodMetrics): Ratio; whileMissing(name: string): number },
): Proposal {
  const groups = groupPods(pods, metrics, { ...situation, resource: rules.resource })
  const counted = new Map([...metrics].filter(([name]) => !groups.ignored.has(name) && !groups.unready.has(name)))
  if (counted.size === 0) throw new Error(unready)
  const { ratio, ...usage } = rules.ratioOf(counted)
  const asNow: Proposal = { replicas: currentReplicas, ...usage }
  const growsWithUnready = groups.unready.size > 0 && ratio > 1
  if (!growsWithUnready && groups.missing.size === 0) {
    return isWithin(tolerances, ratio) ? asNow : { replicas: Math.ceil(ratio * groups.ready), ...usage }
  }
  const zero = { value: 0, timestampMs: 0, windowMs: 0 }
  for (const name of groups.missing) {
    if (ratio < 1) counted.set(name, { ...zero, value: rules.whileMissing(name) })
    else if (ratio > 1) counted.set(name, zero)
  }
  if (growsWithUnready) for (const name of groups.unready) counted.set(name, zero)
  const again = rules.ratioOf(counted).ratio
  const turns = (ratio < 1 && again > 1) || (ratio > 1 && again < 1)
  if (isWithin(tolerances, again) || turns) return asNow
  const replicas = Math.ceil(again * counted.size)
  const isOpposite = (again < 1 && replicas > currentReplicas) || (again > 1 && replicas < currentReplicas)
  return isOpposite ? asNow : { replicas, ...usage }
}

function requirePods(pods: readonly TrimmedPod[]): readonly TrimmedPod[] {
  if (pods.length === 0) throw new Error('no pods returned by selector while calculating replica count')
  return pods
}

function utilizationOf(counted: PodMetrics, requests: ReadonlyMap<string, number>, target: number): Ratio {
  let used = 0
  let requested = 0
  let pods = 0
  for (const [name, { value }] of counted) {
    const request = requests.get(name)
    if (request === undefined) continue
    used += value
    requested += request
    pods += 1
  }
  if (requested === 0) throw new Error('no metrics returned matched known pods')
  const utilization = Math.trunc((used * 100) / requested)
  return { ratio: utilization / target, utilization, usage: Math.trunc(used / pods) }
}

const sum = (metrics: PodMetrics): number => [...metrics.values()].reduce((total, { value }) => total + value, 0)

function requestOf({ metadata, spec }: TrimmedPod, container: string, resource: string): number {
  const ofPod = spec.resources?.requests
  if (ofPod && container === '' && Object.keys(ofPod).length > 0) {
    const quantity = ofPod[resource]
    if (quantity === undefined) throw new Error(`missing pod-level request for ${resource} in Pod ${metadata.name}`)
    return quantityMilliValue(quantity)
  }
  const sidecars = (spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always')
  const counted = [...spec.containers, ...sidecars].filter(({ name }) => container === '' || container === name)
  if (counted.length === 0) throw new Error(`container ${container} not found in Pod ${metadata.name}`)
  return counted.reduce((total, { name, resources }) => {
    const quantity = resources?.requests?.[resource]
    if (quantity === undefined)
      throw new Error(`missing request for ${resource} in container ${name} of Pod ${metadata.name}`)
    return total + quantityMilliValue(quantity)
  }, 0)
}

interface Groups {
  ready: number
  unready: ReadonlySet<string>
  missing: ReadonlySet<string>
  ignored: ReadonlySet<string>
}

function groupPods(
  pods: readonly TrimmedPod[],
  metrics: PodMetrics,
  options: Pick<Situation, 'settings' | 'nowMs'> & { resource: string },
): Groups {
  const unready = new Set<string>()
  const missing = new Set<string>()
  const ignored = new Set<string>()
  let ready = 0
  for (const pod of pods) {
    const { name = '', deletionTimestamp } = pod.metadata
    const phase = pod.status?.phase
    const metric = metrics.get(name)
    if (deletionTimestamp !== undefined || phase === 'Failed') ignored.add(name)
    else if (phase === 'Pending') unready.add(name)
    else if (!metric) missing.add(name)
    else if (options.resource === 'cpu' && !countsCpu(pod, metric, options)) unready.add(name)
    else ready += 1
  }
  return { ready, unready, missing, ignored }
}

/** A program that initializes itself says nothing about the load. */
function countsCpu(
  { status }: TrimmedPod,
  { timestampMs, windowMs }: PodMetric,
  { settings, nowMs }: Pick<Situation, 'settings' | 'nowMs'>,
): boolean {
  const condition = status?.conditions?.find(({ type }) => type === 'Ready')
  if (!condition || status?.startTime === undefined) return false
  const startedMs = parseTime(status.startTime)
  const changedMs = parseTime(condition.lastTransitionTime ?? status.startTime)
  const isUnready = condition.status === 'False'
  if (startedMs + settings.cpuInitializationPeriodMs > nowMs) return !isUnready && timestampMs >= changedMs + windowMs
  return !(isUnready && startedMs + settings.initialReadinessDelayMs > changedMs)
}

/** Returns the proposal for a value that is not of pods: of an object, or of something outside. */
export function replicasForValue(
  { pods, currentReplicas, tolerances }: Situation,
  { usage, target }: { usage: number; target: number },
): Proposal {
  const ratio = usage / target
  if (currentReplicas === 0) return { replicas: Math.ceil(ratio), usage }
  if (isWithin(tolerances, ratio)) return { replicas: currentReplicas, usage }
  return { replicas: Math.min(maxReplicas, Math.ceil(ratio * readyPods(pods))), usage }
}

/** Returns the proposal for a value of which each pod has an equal share; `usage` becomes the share. */
export function replicasForShare(
  statusReplicas: number,
  tolerances: Tolerances,
  { usage, target }: { usage: number; target: number },
): Proposal {
  const isEnough = isWithin(tolerances, usage / (target * statusReplicas))
  const replicas = isEnough ? statusReplicas : Math.min(maxReplicas, Math.ceil(usage / target))
  return { replicas, usage: Math.min(Number.MAX_SAFE_INTEGER, Math.ceil(usage / statusReplicas)) }
}

function readyPods(pods: readonly TrimmedPod[]): number {
  try {
    requirePods(pods)
  } catch (error) {
    throw new Error(`unable to calculate ready pods: ${(error as Error).message}`)
  }
  const isReady = ({ status }: TrimmedPod): boolean =>
    status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false
  return pods.filter((pod) => pod.status?.phase === 'Running' && isReady(pod)).length
}
