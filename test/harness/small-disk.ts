import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import type { Test } from 'tap'

/** A file system of its own at this place until the test ends, or is killed; false where we may not mount any. */
export function mountSmallDisk(t: Test, place: string, options: string): boolean {
  mkdirSync(place, { recursive: true })
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', place], { stdio: 'ignore' })
  } catch {
    return false
  }
  // Its input ends with us, whatever ends us.
  const guard = spawn('sh', ['-c', 'cat >/dev/null; umount -l "$0"', place], {
    stdio: ['pipe', 'ignore', 'inherit'],
    detached: true,
  })
  const ended = once(guard, 'exit')
  t.teardown(async () => {
    guard.stdin.end()
    await ended
  })
  return true
}
