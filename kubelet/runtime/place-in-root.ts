import { lstatSync, readlinkSync } from 'node:fs'

/** The kernel follows as many. */
const mostLinks = 40

/**
 * Returns where the machine has a container's path, links followed as the container follows them. `placed` says where
 * the machine has a path whose links are followed already.
 */
export function placeInRoot(path: string, placed: (path: string) => string): string {
  const done: string[] = []
  const rest = path.split('/')
  for (let part = rest.shift(), links = 0; part !== undefined; part = rest.shift()) {
    if (part === '' || part === '.') continue
    if (part === '..') {
      done.pop()
      continue
    }
    const target = links < mostLinks ? linkAt(placed(`/${[...done, part].join('/')}`)) : undefined
    if (target === undefined) {
      done.push(part)
      continue
    }
    links += 1
    if (target.startsWith('/')) done.length = 0
    rest.unshift(...target.split('/'))
  }
  return placed(`/${done.join('/')}`)
}

function linkAt(path: string): string | undefined {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : undefined
  } catch {
    return undefined
  }
}
