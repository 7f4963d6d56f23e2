import { existsSync, readFileSync, readlinkSync } from 'node:fs'
import type { SignalReception } from '../container-runtime.ts'

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

/** How it is set to take the signal. */
export function receptionOf(pid: number, signal: number): SignalReception | undefined {
  const status = read(`${pid}/status`)
  const field = (name: string): string | undefined => new RegExp(`^${name}:\\s*(.*)$`, 'm').exec(status)?.[1]
  const has = (mask: string | undefined): boolean => ((BigInt(`0x${mask ?? '0'}`) >> BigInt(signal - 1)) & 1n) === 1n
  if (!status) return undefined
  return {
    disposition: has(field('SigCgt')) ? 'caught' : has(field('SigIgn')) ? 'ignored' : 'default',
    isInit: field('NSpid')?.split(/\s+/).at(-1) === '1',
  }
}

function read(file: string): string {
  try {
    return readFileSync(`/proc/${file}`, 'latin1')
  } catch {
    return ''
  }
}
