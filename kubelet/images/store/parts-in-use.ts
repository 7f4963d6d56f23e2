import { readdirSync, readFileSync } from 'node:fs'

/**
 * Looks at all processes of this machine, once, and returns which of them sees a part of a store as its files: the
 * part's name, a digest, is among its mounts.
 */
export function partsInUse(): (part: string) => number | undefined {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  const mounts = pids.map((pid) => ({ pid: Number(pid), text: mountsOf(pid) }))
  return (part) => mounts.find(({ text }) => text.includes(part))?.pid
}

function mountsOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/mountinfo`, 'utf8')
  } catch {
    return '' // it has ended, or is another user's
  }
}
