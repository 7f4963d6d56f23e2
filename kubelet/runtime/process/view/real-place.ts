import { existsSync, realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/**
 * Where an absolute path of a container leads, links followed as far as the machine has it: `/var/run/x` is `/run/x` on
 * most. A link would otherwise be followed while the container's root is being made, and so lead out of it.
 */
export function realPlace(path: string): string {
  if (path === '/' || existsSync(path)) return realpathSync.native(path)
  return join(realPlace(dirname(path)), basename(path))
}
