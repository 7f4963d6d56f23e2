import type { ContainerUsage } from '../../container-runtime.ts'
import type { Read } from '../api/messages.ts'
import { LABELS } from './labels.ts'

/** Returns what a container uses. The CRI does not count its processes: there is one at least. */
export function usageOf({ attributes, cpu, memory, writableLayer }: Read<'ContainerStats'>): ContainerUsage {
  const working = memory?.workingSetBytes?.value ?? 0
  const { value: usageBytes } = memory?.usageBytes ?? {}
  const { value: rssBytes } = memory?.rssBytes ?? {}
  return {
    podUid: attributes?.labels[LABELS.podUid] ?? '',
    containerId: attributes?.id ?? '',
    name: attributes?.metadata?.name ?? '',
    memoryBytes: working,
    ...(usageBytes !== undefined && { memory: { usageBytes, rssBytes: rssBytes ?? 0 } }),
    cpuSeconds: (cpu?.usageCoreNanoSeconds?.value ?? 0) / 1e9,
    processes: 1,
    diskBytes: writableLayer?.usedBytes?.value ?? 0,
    inodes: writableLayer?.inodesUsed?.value ?? 0,
  }
}
