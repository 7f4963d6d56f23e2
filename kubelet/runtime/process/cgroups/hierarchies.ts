/** Names what the kernel can bound or count by control groups. */
export type Controller = 'cpu' | 'cpuacct' | 'memory' | 'pids'

/** Says where this process may look for a place of control groups of its own. */
export interface Hierarchies {
  version: 1 | 2
  /**
   * Names the folders in which groups may be made, those to be preferred first. Version 1 has one for each controller,
   * version 2 has all controllers in each.
   */
  candidates: ReadonlyMap<Controller, string>[]
}

export const controllers: readonly Controller[] = ['cpu', 'cpuacct', 'memory', 'pids']
/** Version 2 counts the time of processors in all groups. */
const ofVersion2: readonly Controller[] = ['cpu', 'memory', 'pids']

interface Mounted {
  type: string
  /** The group that is seen as the root. */
  root: string
  place: string
  controllers: string[]
}

/**
 * Reads /proc/self/mountinfo and /proc/self/cgroup. Groups of version 1 are made within our own, so that limits set
 * for us hold; in version 2 a group has either processes or groups, so they are made at the top, or as near to it as we
 * may.
 * Undefined where the controller of memory is in neither.
 */
export function hierarchies(mountinfo: string, cgroup: string): Hierarchies | undefined {
  const mounted = mountedIn(mountinfo)
  const own = ownGroups(cgroup)
  const first = new Map<Controller, string>()
  for (const controller of controllers) {
    const mount = mounted.find(({ type, controllers }) => type === 'cgroup' && controllers.includes(controller))
    if (mount) first.set(controller, mount.place + below(mount.root, own.get(controller) ?? '/'))
  }
  if (first.has('memory')) return { version: 1, candidates: [first] }
  const unified = mounted.find(({ type }) => type === 'cgroup2')
  if (!unified) return undefined
  const parts = below(unified.root, own.get('') ?? '/')
    .split('/')
    .filter(Boolean)
  const folders = [...parts.keys(), parts.length].map((count) => [unified.place, ...parts.slice(0, count)].join('/'))
  return { version: 2, candidates: folders.map((folder) => new Map(ofVersion2.map((name) => [name, folder]))) }
}

const mountedIn = (mountinfo: string): Mounted[] =>
  mountinfo.split('\n').flatMap((line) => {
    const [ofPlace = '', ofType = ''] = line.split(' - ')
    const [, , , root = '', place = ''] = ofPlace.split(' ')
    const [type = '', , options = ''] = ofType.split(' ')
    return type.startsWith('cgroup') ? [{ type, root, place, controllers: options.split(',') }] : []
  })

/** Returns groups by controller; the group of version 2 has an empty name. */
const ownGroups = (cgroup: string): Map<string, string> =>
  new Map(
    cgroup.split('\n').flatMap((line) => {
      const [, names, ...path] = line.split(':')
      return (names?.split(',') ?? []).map((name) => [name, path.join(':')] as const)
    }),
  )

/** A group as it is seen where only a part of the tree is mounted; empty for the root. */
function below(root: string, group: string): string {
  const within = root === '/' ? group : group === root || group.startsWith(`${root}/`) ? group.slice(root.length) : ''
  return within === '/' || within.startsWith('/..') ? '' : within
}
