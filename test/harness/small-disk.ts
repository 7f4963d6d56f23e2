import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'

/** A file system of its own at this place in a scratch folder, which takes it along; false where we may not mount any. */
export function mountSmallDisk(place: string, options: string): boolean {
  mkdirSync(place, { recursive: true })
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', place], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
