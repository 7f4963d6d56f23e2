import { readdirSync, readFileSync } from 'node:fs'

/** A process that sees a part of the store as its files: the part's name, a digest, is among its mounts. */
export function userOf(part: string): number | undefined {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.map(Number).find((pid) => mountsOf(pid).includes(part))
}

function mountsOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/mountinfo`, 'utf8')
  } catch {
    return '' // it has ended, or is another user's
  }
}
