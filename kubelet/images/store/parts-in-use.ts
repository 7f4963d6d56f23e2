import { readdirSync } from 'node:fs'
import { textOf } from '../../../shared/files/readable.ts'

/**
 * Looks at all processes of this machine, once, and returns which of them sees a part of a store as its files: the
 * part's name, a digest, is among its mounts.
 */
export function partsInUse(): (part: string) => number | undefined {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  const mounts = pids.map((pid) => ({ pid: Number(pid), text: textOf(`/proc/${pid}/mountinfo`) }))
  return (part) => mounts.find(({ text }) => text.includes(part))?.pid
}
