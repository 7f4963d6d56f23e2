import { type Amounts, amountsOf, podRequests } from '../../shared/api/quantities/amounts.ts'
import type { Container, Pod } from '../../shared/api/types.ts'
import type { PodLimits, ResourceLimits } from '../runtime/container-runtime.ts'

type Resources = NonNullable<Container['resources']>

const [fewestShares, mostShares] = [2, 262_144]
const sharesOfOne = 1024
const periodUs = 100_000
const leastQuotaUs = 1_000

/** Returns the limits of a container. Upstream: kuberuntime_container_linux.go, calculateLinuxResources. */
export function containerLimits({ limits, requests }: Resources): ResourceLimits {
  const most = amountsOf(limits)
  return bounds(amountsOf(requests).get('cpu') ?? most.get('cpu'), most)
}

/**
 * Returns the limits of a pod as a whole; undefined where it asks for nothing and may have processes without number.
 * `resources` says what each container has now, by name. Upstream: cm/helpers_linux.go, ResourceConfigForPod.
 */
export function podLimits(
  { spec, status }: Pod,
  { pids, resources }: { pids?: number; resources?(container: string): Resources } = {},
): PodLimits | undefined {
  const now = <C extends Container>(container: C): C =>
    resources ? { ...container, resources: resources(container.name) } : container
  const containers = spec.containers.map(now)
  const initContainers = (spec.initContainers ?? []).map(now)
  const all = [...containers, ...initContainers]
  if (pids === undefined && ![spec, ...all].some(asks)) return undefined
  const limitsAsRequests = <C extends Container>(container: C) => ({
    ...container,
    resources: { requests: container.resources?.limits },
  })
  const requests = podRequests({ spec: { ...spec, containers, initContainers } })
  const sum = podRequests({
    spec: {
      overhead: spec.overhead,
      containers: containers.map(limitsAsRequests),
      initContainers: initContainers.map(limitsAsRequests),
    },
  })
  const isBounded = (name: string): boolean => all.every(({ resources }) => resources?.limits?.[name] !== undefined)
  const bounded = new Map([...sum].filter(([name]) => isBounded(name)))
  const own = amountsOf(spec.resources?.limits)
  return {
    qos: status?.qosClass ?? (all.some(asks) ? 'Burstable' : 'BestEffort'),
    ...bounds(amountsOf(spec.resources?.requests).get('cpu') ?? requests.get('cpu'), new Map([...bounded, ...own])),
    ...(pids !== undefined && { pids }),
  }
}

const counted = ['cpu', 'memory']
const asks = ({ resources }: { resources?: Resources }): boolean =>
  counted.some((name) => (resources?.requests?.[name] ?? resources?.limits?.[name]) !== undefined)

/** Amounts are thousandths. */
function bounds(cpuRequest: number | undefined, limits: Amounts): ResourceLimits {
  const [cpu = 0, memory = 0] = [limits.get('cpu'), limits.get('memory')]
  const shares = Math.floor(((cpuRequest ?? 0) * sharesOfOne) / 1000)
  return {
    cpuShares: Math.min(mostShares, Math.max(fewestShares, shares)),
    ...(cpu > 0 && { cpuQuotaUs: Math.max(leastQuotaUs, Math.floor((cpu * periodUs) / 1000)) }),
    ...(memory > 0 && { memoryBytes: Math.ceil(memory / 1000) }),
  }
}

const firstToEnd = 1000
const lastToEnd = -997

/**
 * Returns how readily the kernel ends the container when the machine runs out of memory. Upstream: qos/policy.go,
 * GetContainerOOMScoreAdjust.
 */
export function oomScoreAdjustment({ spec, status }: Pod, { resources }: Container, machineBytes: number): number {
  if (spec.priorityClassName === 'system-node-critical' || status?.qosClass === 'Guaranteed') return lastToEnd
  const qos = status?.qosClass ?? 'BestEffort'
  if (qos === 'BestEffort') return firstToEnd
  const request = (amountsOf(resources?.requests).get('memory') ?? 0) / 1000
  const score = firstToEnd - Math.floor((firstToEnd * request) / machineBytes)
  return Math.min(firstToEnd - 1, Math.max(firstToEnd + lastToEnd, score))
}
