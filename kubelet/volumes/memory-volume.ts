import { addQuantities, isZeroQuantity, quantityValue } from '../../shared/api/quantities/quantity.ts'
import type { Container, Pod } from '../../shared/api/types.ts'
import { isSidecar } from '../pod/container-kinds.ts'
import type { Volume } from './volume-payload.ts'

export const isInMemory = ({ emptyDir }: Volume): boolean => emptyDir?.medium === 'Memory'

/**
 * Bytes that a volume in memory may hold: its `sizeLimit`, at most the pod's memory limit, at most the node's memory.
 * Upstream: calculateEmptyDirMemorySize in pkg/volume/emptydir/empty_dir.go.
 */
export function memoryVolumeBytes(pod: Pod, { emptyDir }: Volume, allocatable: string): number {
  const limits = [podMemoryLimit(pod), emptyDir?.sizeLimit].map((limit) => quantityValue(limit ?? '0'))
  return Math.min(quantityValue(allocatable), ...limits.filter((limit) => limit > 0))
}

/** Returns undefined unless each container has one, or the pod. Upstream: ResourceConfigForPod in pkg/kubelet/cm. */
function podMemoryLimit({ spec }: Pod): string | undefined {
  const own = spec.resources?.limits?.memory
  if (own !== undefined && !isZeroQuantity(own)) return own
  const { containers, initContainers = [] } = spec
  const limitOf = ({ resources }: Container): string => resources?.limits?.memory ?? '0'
  if ([...containers, ...initContainers].some((container) => isZeroQuantity(limitOf(container)))) return undefined
  const lasting = [...containers, ...initContainers.filter(isSidecar)].map(limitOf).reduce(addQuantities, '0')
  const largest = Math.max(
    quantityValue(lasting),
    ...initContainers.map((container) => quantityValue(limitOf(container))),
  )
  return String(largest)
}
