import type { Processes } from '../record-store.ts'
import { flags, ifPossible, mount, type Step, tmpfs } from './steps.ts'
import type { ContainerView } from './view.ts'

const { noSuid, noDevices, noPrograms, bind, recursive } = flags

/** Where the container's root is while it is made, and the machine's: both as prefixes of paths. */
export interface Roots {
  root: string
  machine: string
}

const character = 0o020666
const deviceNumbers: Readonly<Record<string, readonly [major: number, minor: number]>> = {
  null: [1, 3],
  zero: [1, 5],
  full: [1, 7],
  random: [1, 8],
  urandom: [1, 9],
  tty: [5, 0],
  ptmx: [5, 2],
}
const deviceLinks = { fd: '', stdin: '/0', stdout: '/1', stderr: '/2' }

/** Makes `/dev`, as container runtimes do. In a user namespace none can be made, and these are the machine's. */
export function devices({ root, machine }: Roots, { areMade }: { areMade: boolean }): Step[] {
  const dev = `${root}/dev`
  return [
    // Beyond its layer: the size that container runtimes give /dev/shm.
    tmpfs(dev, 'mode=0755,size=64m,nr_inodes=64k', noSuid),
    ...Object.entries(deviceNumbers).flatMap(([name, [major, minor]]): Step[] =>
      areMade
        ? [['device', `${dev}/${name}`, String(character), String(major * 256 + minor)]]
        : [['file', `${dev}/${name}`], mount(`${machine}dev/${name}`, `${dev}/${name}`, '', bind)],
    ),
    ...Object.entries(deviceLinks).map(([name, end]): Step => ['link', `/proc/self/fd${end}`, `${dev}/${name}`]),
    ['directory', `${dev}/shm`],
    ['mode', String(0o1777), `${dev}/shm`],
    ['directory', `${dev}/pts`],
    mount(`${machine}dev/pts`, `${dev}/pts`, '', bind),
  ]
}

/** Mounts a `/proc` of the container's own where its processes have a namespace of their own, else the machine's. */
export const proc = ({ root, machine }: Roots, processes: Processes): Step[] => [
  processes === 'host'
    ? mount(`${machine}proc`, `${root}/proc`, '', bind | recursive)
    : mount('proc', `${root}/proc`, 'proc', noSuid | noDevices | noPrograms),
]

export const sys = ({ root, machine }: Roots): Step[] => [mount(`${machine}sys`, `${root}/sys`, '', bind | recursive)]

/** Puts its own control group in the place of the machine's. What belongs to another user's mounts stays below it. */
export function ownGroups({ root, machine }: Roots, { groups = [], identity }: ContainerView): Step[] {
  const place = `${root}/sys/fs/cgroup`
  const placed = (folder: string, at: string): Step => mount(machine + folder.slice(1), at, '', bind)
  const [first] = groups
  if (!first) return []
  const bare: Step[] = identity ? [] : [['unmountIfPossible', place]]
  if (groups.length === 1) return [...bare, placed(first[1], place)]
  return [
    ...bare,
    tmpfs(place, 'mode=0755,size=64k', noSuid),
    ...groups.flatMap(([name, folder]): Step[] => [
      ['directory', `${place}/${name}`],
      placed(folder, `${place}/${name}`),
    ]),
  ]
}

/**
 * As container runtimes show them to a container that is not privileged: settings can be read, memory and keys are not
 * there.
 */
export const machineIsReadOnly = ({ root }: Roots, { openProc = false } = {}): Step[] => [
  ['readonly', `${root}/sys`],
  ...(openProc ? [] : coveredProc(root)),
]

const coveredProc = (root: string): Step[] => [
  ...['bus', 'fs', 'irq', 'sys', 'sysrq-trigger'].flatMap((name): Step[] => [
    ifPossible(mount(`${root}/proc/${name}`, `${root}/proc/${name}`, '', bind | recursive)),
    ['readonlyIfPossible', `${root}/proc/${name}`],
  ]),
  ...['kcore', 'keys', 'latency_stats', 'sched_debug', 'timer_list'].map((name) =>
    ifPossible(mount(`${root}/dev/null`, `${root}/proc/${name}`, '', bind)),
  ),
]
