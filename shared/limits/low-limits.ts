import { textOf } from '../files/readable.ts'
import { cgroupProcesses } from './cgroup-processes.ts'

/** Below so many processes and threads a cluster may not start. */
const leastProcesses = 100
/** Below these a cluster may not start. Root has as many processes as it wants. */
const rows = [
  { row: 'Max processes', least: leastProcesses, unit: 1, shown: 'processes (ulimit -u)', isForRoot: false },
  { row: 'Max open files', least: 256, unit: 1, shown: 'open files (ulimit -n)', isForRoot: true },
  { row: 'Max address space', least: 8 << 10, unit: 1024 ** 2, shown: 'MB of addresses (ulimit -v)', isForRoot: true },
]

/** Says what a program that does not start may lack, where no limit is known to be low. */
export const checkLimits = '; check that it may have threads (ulimit -u, pids.max of its cgroup) and memory (ulimit -v)'

/** `; a limit of this shell may be why: 20 processes (ulimit -u)`; empty where none is low, or there is no /proc. */
export function lowLimits(): string {
  const low = limitsThatAreLow()
  return low === '' ? '' : `; a limit of this shell may be why: ${low}`
}

/** Returns `20 processes (ulimit -u)`: the limits of this process under which a cluster may not start. */
export function limitsThatAreLow(): string {
  const text = textOf('/proc/self/limits')
  const low = rows.flatMap(({ row, least, unit, shown, isForRoot }) => {
    const limit = Number(new RegExp(`^${row} +(\\d+)`, 'm').exec(text)?.[1] ?? Number.NaN) / unit
    return limit < least && (process.getuid?.() !== 0 || isForRoot) ? [`${Math.floor(limit)} ${shown}`] : []
  })
  const processes = cgroupProcesses()
  return [...low, ...(processes < leastProcesses ? [`${processes} processes (pids.max of its cgroup)`] : [])].join(', ')
}
