import { canonicalQuantity, quantityValue } from '../../shared/api/quantities/quantity.ts'
import type { Pod } from '../../shared/api/types.ts'
import { allContainers } from '../pod/container-kinds.ts'
import type { ContainerUsage } from '../runtime/container-runtime.ts'
import type { PodUsage } from './pod-usage.ts'
import { type Observations, signals } from './signals.ts'
import { amountText, countText, type Threshold } from './thresholds.ts'

export interface EvictionMessage {
  message: string
  annotations: Record<string, string>
}

/**
 * Says why this pod was chosen, and which containers exceed their requests. Upstream: evictionMessage in
 * pkg/kubelet/eviction/helpers.go.
 */
export function evictionMessage(
  pod: Pod,
  { containers }: PodUsage,
  { threshold, observations }: { threshold: Threshold; observations: Observations },
): EvictionMessage {
  const { signal, amount } = threshold
  const { resource } = signals[signal]
  const observed = observations[signal]
  let message = `The node was low on resource: ${resource}. `
  if (observed) {
    const available = countText(observed.available, signal)
    message += `Threshold quantity: ${amountText(amount, signal, observed.capacity)}, available: ${available}. `
  }
  const offenders: [name: string, usage: string][] = []
  const used = usageOf[resource]
  for (const container of used ? allContainers(pod.spec) : []) {
    const usage = containers.find(({ name }) => name === container.name)
    const request = container.resources?.requests?.[resource] ?? '0'
    if (!used || !usage || used(usage) <= quantityValue(request)) continue
    const text = countText(used(usage), signal)
    offenders.push([container.name, text])
    message += `Container ${container.name} was using ${text}, request is ${canonicalQuantity(request)}, has larger consumption of ${resource}. `
  }
  const annotations = {
    offending_containers: offenders.map(([name]) => name).join(','),
    offending_containers_usage: offenders.map(([, usage]) => usage).join(','),
    starved_resource: resource,
  }
  return { message, annotations }
}

const usageOf: Record<string, ((usage: ContainerUsage) => number) | undefined> = {
  memory: ({ memoryBytes }) => memoryBytes,
  'ephemeral-storage': ({ diskBytes }) => diskBytes,
}
