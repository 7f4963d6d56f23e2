import { textOf } from '../../shared/files/readable.ts'
import type { SignalReception } from './container-runtime.ts'

/**
 * These functions read what Linux tells about a process. Each returns undefined or false for a process that has ended
 * meanwhile.
 */

/** Returns how a process is set to handle the signal; undefined if the process does not exist. */
export function receptionOf(pid: number, signal: number): (SignalReception & { isStopped: boolean }) | undefined {
  const status = textOf(`/proc/${pid}/status`, 'latin1')
  const field = (name: string): string | undefined => new RegExp(`^${name}:\\s*(.*)$`, 'm').exec(status)?.[1]
  const has = (mask: string | undefined): boolean => ((BigInt(`0x${mask ?? '0'}`) >> BigInt(signal - 1)) & 1n) === 1n
  if (!status) return undefined
  return {
    disposition: has(field('SigCgt')) ? 'caught' : has(field('SigIgn')) ? 'ignored' : 'default',
    isInit: field('NSpid')?.split(/\s+/).at(-1) === '1',
    isStopped: /^[Tt]/.test(field('State') ?? ''),
  }
}
