import { existsSync, readdirSync, readFileSync } from 'node:fs'
import type { SignalReception } from '../container-runtime.ts'

/**
 * These functions read what Linux tells about a process. Each returns undefined or false for a process that has ended
 * meanwhile.
 */

/** Returns how a process is set to handle the signal; undefined if the process does not exist. */
export function receptionOf(pid: number, signal: number): (SignalReception & { isStopped: boolean }) | undefined {
  const status = read(`${pid}/status`)
  const field = (name: string): string | undefined => new RegExp(`^${name}:\\s*(.*)$`, 'm').exec(status)?.[1]
  const has = (mask: string | undefined): boolean => ((BigInt(`0x${mask ?? '0'}`) >> BigInt(signal - 1)) & 1n) === 1n
  if (!status) return undefined
  return {
    disposition: has(field('SigCgt')) ? 'caught' : has(field('SigIgn')) ? 'ignored' : 'default',
    isInit: field('NSpid')?.split(/\s+/).at(-1) === '1',
    isStopped: /^[Tt]/.test(field('State') ?? ''),
  }
}

/**
 * Returns the processes that a process started, and those that they started, in no order. Without /proc it returns
 * none.
 */
export function descendantsOf(pid: number): number[] {
  if (!existsSync('/proc/self')) return []
  const processes = readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))
  const children = Map.groupBy(processes, parentOf)
  const found: number[] = []
  for (let next = [pid]; next.length > 0; found.push(...next)) {
    next = next.flatMap((parent) => (children.get(parent) ?? []).map(Number))
  }
  return found
}
/** The second number behind the name, which may hold anything. */
const parentOf = (pid: string): number => Number(/^\S (\d+)/.exec(read(`${pid}/stat`).split(') ').at(-1) ?? '')?.[1])

function read(file: string): string {
  try {
    return readFileSync(`/proc/${file}`, 'latin1')
  } catch {
    return ''
  }
}
