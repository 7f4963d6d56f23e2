import { existsSync, readFileSync, readlinkSync } from 'node:fs'

/** What Linux tells of a process. Each is undefined or false for one that is gone meanwhile. */

/** The first child, as the kernel lists them. */
export function childOf(pid: number): number | undefined {
  const [first] = read(`${pid}/task/${pid}/children`).split(' ')
  return first ? Number(first) : undefined
}

/** The file that it executes. */
export function programOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/exe`)
  } catch {
    return undefined
  }
}

/** Also true where there is no /proc to ask. */
export const exists = (pid: number): boolean => process.platform !== 'linux' || existsSync(`/proc/${pid}`)

function read(file: string): string {
  try {
    return readFileSync(`/proc/${file}`, 'latin1')
  } catch {
    return ''
  }
}
