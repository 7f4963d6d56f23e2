import { readdirSync } from 'node:fs'
import { textOf } from '../../../shared/files/readable.ts'

/** Set in the environment of every process we start, so that its descendants are found wherever they went. */
export const markerVariable = 'KUBESTAGE_CONTAINER'
export const marker = (runtimeRoot: string, containerId: string): string => `${runtimeRoot}:${containerId}`

/** Returns the marker in the environment of a process, which names its owner. */
export const markerOf = (pid: number | string): string | undefined => variableOf(pid, markerVariable)

/** A variable of a process, as it was when it was executed. */
export function variableOf(pid: number | string, name: string): string | undefined {
  const environment = textOf(`/proc/${pid}/environ`, 'latin1')
  const before = `\0${environment}`.indexOf(`\0${name}=`)
  if (before === -1) return undefined
  const from = before + name.length + 1
  const end = environment.indexOf('\0', from)
  return environment.slice(from, end === -1 ? undefined : end)
}

/** Process ids by marker. Concurrent callers share one walk through /proc. */
export function markedProcesses(): Map<string, number[]> {
  const found = new Map<string, number[]>()
  for (const entry of readdirSync('/proc')) {
    const pid = Number(entry)
    if (!Number.isInteger(pid) || pid === process.pid) continue
    const mark = markerOf(pid)
    if (mark === undefined) continue
    const pids = found.get(mark)
    if (pids) pids.push(pid)
    else found.set(mark, [pid])
  }
  return found
}
