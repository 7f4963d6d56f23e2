import { dirname, join } from 'node:path'
import { textOf } from '../files/readable.ts'

/**
 * Returns how many processes and threads the cgroups of this process allow; Infinity if they set no limit. Each cgroup
 * above counts as well. Linux: Documentation/admin-guide/cgroup-v2.rst, and cgroup-v1/pids.rst.
 */
export function cgroupProcesses(proc = '/proc/self/cgroup', root = '/sys/fs/cgroup'): number {
  let least = Number.POSITIVE_INFINITY
  for (const [, controllers = '', path = '/'] of textOf(proc).matchAll(/^\d+:([^:]*):(\/.*)$/gm)) {
    if (controllers !== '' && !controllers.split(',').includes('pids')) continue
    for (let at = path; ; at = dirname(at)) {
      least = Math.min(least, limitIn(join(root, controllers, at)))
      if (at === '/') break
    }
  }
  return least
}

function limitIn(cgroup: string): number {
  const text = textOf(join(cgroup, 'pids.max'))
  return /^\d+$/m.test(text) ? Number(text) : Number.POSITIVE_INFINITY
}
