import { readdirSync, readFileSync } from 'node:fs'

/** Returns the text of a file; empty if it cannot be read. */
export function textOf(file: string, encoding: 'utf8' | 'latin1' = 'utf8'): string {
  try {
    return readFileSync(file, encoding)
  } catch {
    return ''
  }
}

/** Returns the names in a folder; none if it cannot be read. */
export function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

/**
 * Returns what Linux tells about a process after its name, which may hold anything: the state, the parent, and so on.
 * Upstream: proc_pid_stat(5). Without the process it is one empty text.
 */
export function processFields(pid: number): string[] {
  const stat = textOf(`/proc/${pid}/stat`, 'latin1')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}
