import { quantityValue } from '../../shared/api/quantities/quantity.ts'
import type { Container, Pod } from '../../shared/api/types.ts'
import { isSidecar } from '../pod/container-kinds.ts'
import type { ContainerUsage } from '../runtime/container-runtime.ts'

/** Holds what a pod uses of the resources that a node may run short of. */
export interface PodUsage {
  containers: readonly ContainerUsage[]
  /** Maps the names of volumes that count to their bytes and inodes. */
  volumes: ReadonlyMap<string, DiskUsage>
}
export interface DiskUsage {
  bytes: number
  inodes: number
  /** True if the volume uses memory instead of the disk. */
  inMemory?: boolean
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0)

export const memoryOf = ({ containers, volumes }: PodUsage): number =>
  sum(containers.map(({ memoryBytes }) => memoryBytes)) +
  sum([...volumes.values()].filter(({ inMemory }) => inMemory).map(({ bytes }) => bytes))
export const processesOf = ({ containers }: PodUsage): number => sum(containers.map(({ processes }) => processes))
export function diskOf({ containers, volumes }: PodUsage): DiskUsage {
  const onDisk = [...volumes.values()].filter(({ inMemory }) => !inMemory)
  return {
    bytes: sum([...containers.map(({ diskBytes }) => diskBytes), ...onDisk.map(({ bytes }) => bytes)]),
    inodes: sum([...containers, ...onDisk].map(({ inodes }) => inodes)),
  }
}

/**
 * Returns what the pod requests of a resource: the sum of its containers and sidecars, or the largest request of an
 * init container if that is more.
 */
export function podRequest({ spec }: Pod, resource: 'memory' | 'ephemeral-storage'): number {
  const of = ({ resources }: Container): number => quantityValue(resources?.requests?.[resource] ?? '0')
  const { initContainers = [], containers } = spec
  const running = sum([...containers, ...initContainers.filter(isSidecar)].map(of))
  return Math.max(running, ...initContainers.map(of))
}
