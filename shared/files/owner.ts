import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import { textOf } from './readable.ts'

/** `1000 (alice)`, or the number alone where /etc/passwd does not have it. */
export function userName(uid: number): string {
  const name = textOf('/etc/passwd')
    .split('\n')
    .map((line) => line.split(':'))
    .find(([, , id]) => id === `${uid}`)?.[0]
  return name ? `${uid} (${name})` : `${uid}`
}

/** The owner of the file, or of the innermost folder above it that can be seen, if that is another user. */
export function otherOwner(path: string): { path: string; user: string } | undefined {
  try {
    const { uid } = statSync(path)
    return uid === process.getuid?.() ? undefined : { path, user: userName(uid) }
  } catch {
    return dirname(path) === path ? undefined : otherOwner(dirname(path))
  }
}
