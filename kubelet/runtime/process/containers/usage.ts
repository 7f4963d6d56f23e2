import { readdirSync, readlinkSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import path from 'node:path'
import { namesIn, processFields, textOf } from '../../../../shared/files/readable.ts'
import type { ContainerUsage } from '../../container-runtime.ts'
import { ticksPerSecond } from '../../machine-cpu.ts'
import type { GroupUsage } from '../cgroups/cgroups.ts'
import { marker, markerOf } from '../marker.ts'
import type { Container } from './container.ts'
import { layerOf } from './layer-watch.ts'

/**
 * Returns what each running container uses. One walk through /proc serves all containers; without /proc the figures are
 * zero.
 */
export async function usageOf(
  containers: readonly Container[],
  runtimeRoot: string,
  counted: (container: Container) => GroupUsage | undefined = () => undefined,
): Promise<ContainerUsage[]> {
  const usages = new Map(containers.map((container) => [container, counted(container)]))
  const isAllCounted = ![...usages.values()].includes(undefined)
  const pidsOf = isAllCounted ? new Map<string, number[]>() : processesByOwner()
  return Promise.all(
    containers.map(async (container) => {
      const { stored, record } = container
      const { podUid, name } = record
      const pids =
        pidsOf.get(stored.processes === 'own' ? namespaceOf(record.pid) : marker(runtimeRoot, stored.id)) ?? []
      // Without a control group, by what /proc says of each process.
      const memoryBytes = pids.reduce((sum, pid) => sum + memoryOf(pid), 0)
      const layer = await layerOf(container)
      const log = await logBytes(record.logPath)
      const group = usages.get(container)
      return {
        podUid,
        containerId: record.id,
        name,
        memoryBytes: group?.workingSetBytes ?? memoryBytes,
        ...(group && { memory: { usageBytes: group.usageBytes, rssBytes: group.rssBytes } }),
        cpuSeconds: group?.cpuSeconds ?? pids.reduce((sum, pid) => sum + cpuTicksOf(pid), 0) / ticksPerSecond,
        processes: group?.processes ?? pids.length,
        diskBytes: layer.bytes + log,
        inodes: layer.inodes,
      }
    }),
  )
}

/** Process ids by their PID namespace, and by their mark. */
function processesByOwner(): Map<string, number[]> {
  const found = new Map<string, number[]>()
  const own = namespaceOf(process.pid)
  for (const entry of process.platform === 'linux' ? readdirSync('/proc') : []) {
    const pid = Number(entry)
    if (!Number.isInteger(pid)) continue
    const namespace = namespaceOf(pid)
    for (const owner of namespace === own ? [markerOf(pid)] : [namespace, markerOf(pid)]) {
      if (owner === undefined) continue
      const pids = found.get(owner)
      if (pids) pids.push(pid)
      else found.set(owner, [pid])
    }
  }
  return found
}

function namespaceOf(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`)
  } catch {
    return '' // gone meanwhile, or not ours to read
  }
}

/**
 * Returns the memory that only this process has in RAM. Its program's file is in the page cache, which all processes
 * share.
 */
function memoryOf(pid: number): number {
  const status = textOf(`/proc/${pid}/status`, 'latin1')
  const kibibytes = [...status.matchAll(/^Rss(?:Anon|Shmem):\s+(\d+) kB$/gm)].map(([, text]) => Number(text))
  return kibibytes.reduce((sum, one) => sum + one, 0) * 1024
}

/** Fields 14 to 17: its own time and that of the children it has waited for, each in user and in system mode. */
const cpuTicksOf = (pid: number): number =>
  processFields(pid)
    .slice(11, 15)
    .reduce((sum, ticks) => sum + Number(ticks), 0)

/** Returns the size of a log and its rotated predecessors. */
async function logBytes(logPath: string): Promise<number> {
  const folder = path.dirname(logPath)
  const sizes = namesIn(folder).map((name) =>
    stat(path.join(folder, name)).then(
      ({ size }) => size,
      () => 0,
    ),
  )
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
}
