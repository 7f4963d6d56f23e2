import { addQuantities, canonicalQuantity, quantityValue } from '../../shared/api/quantities/quantity.ts'
import type { Container, Pod } from '../../shared/api/types.ts'
import { isSidecar } from '../pod/container-kinds.ts'
import { diskOf, type PodUsage } from './pod-usage.ts'

const RESOURCE = 'ephemeral-storage'
const limitOf = ({ resources }: Container): string | undefined => resources?.limits?.[RESOURCE]
const sizeLimit = (volume: NonNullable<Pod['spec']['volumes']>[number]): string | undefined =>
  volume.emptyDir?.sizeLimit

/** Returns true if a limit bounds the pod's use of the node's disk. Pods without such a limit need not be measured. */
export const hasLocalLimits = ({ spec }: Pod): boolean =>
  (spec.volumes ?? []).some(sizeLimit) || [...spec.containers, ...(spec.initContainers ?? [])].some(limitOf)

/**
 * Says which limit a pod has exceeded, with upstream's signal and message (pkg/kubelet/eviction/eviction_manager.go).
 */
export interface ExceededLimit {
  signal: 'emptydirfs.limit' | 'ephemeralpodfs.limit' | 'ephemeralcontainerfs.limit'
  message: string
}

export function exceededLocalLimit({ spec }: Pod, usage: PodUsage): ExceededLimit | undefined {
  for (const volume of spec.volumes ?? []) {
    const limit = sizeLimit(volume)
    const used = usage.volumes.get(volume.name)?.bytes ?? 0
    if (limit === undefined || quantityValue(limit) <= 0 || used <= quantityValue(limit)) continue
    const message = `Usage of EmptyDir volume "${volume.name}" exceeds the limit "${canonicalQuantity(limit)}". `
    return { signal: 'emptydirfs.limit', message }
  }
  const limited = [...spec.containers, ...(spec.initContainers ?? []).filter(isSidecar)]
    .map((container) => ({ name: container.name, limit: limitOf(container) }))
    .filter((entry): entry is { name: string; limit: string } => entry.limit !== undefined)
  const total = limited.reduce((sum, { limit }) => addQuantities(sum, limit), '0')
  if (limited.length > 0 && diskOf(usage).bytes > quantityValue(total)) {
    const message = `Pod ephemeral local storage usage exceeds the total limit of containers ${total}. `
    return { signal: 'ephemeralpodfs.limit', message }
  }
  for (const { name, limit } of limited) {
    const used = usage.containers.find((container) => container.name === name)?.diskBytes ?? 0
    if (used > quantityValue(limit)) {
      const message = `Container ${name} exceeded its local ephemeral storage limit "${canonicalQuantity(limit)}". `
      return { signal: 'ephemeralcontainerfs.limit', message }
    }
  }
  return undefined
}
