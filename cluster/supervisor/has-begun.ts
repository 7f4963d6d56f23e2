import { readFileSync } from 'node:fs'

/**
 * Returns whether a kubelet runs its JavaScript: then it handles SIGHUP (1). A Node that is refused a thread may wait
 * for ever before it runs any. True where the system does not tell.
 */
export function hasBegun(pid: number): boolean {
  try {
    const [, caught] = /^SigCgt:\s*([0-9a-f]+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
    return caught === undefined || BigInt(`0x${caught}`) % 2n === 1n
  } catch {
    return true
  }
}
