import { textOf } from '../../shared/files/readable.ts'

/**
 * Returns whether a kubelet runs its JavaScript: then it handles SIGHUP (1). A Node that is refused a thread may wait
 * for ever before it runs any. True where the system does not tell.
 */
export function hasBegun(pid: number): boolean {
  const [, caught] = /^SigCgt:\s*([0-9a-f]+)$/m.exec(textOf(`/proc/${pid}/status`)) ?? []
  return caught === undefined || BigInt(`0x${caught}`) % 2n === 1n
}
