import type { Mount } from '../../container-runtime.ts'
import type { Processes } from '../record-store.ts'
import { type Hidden, isBelow } from './hidden.ts'
import type { Identity } from './identity.ts'
import { mountPoints } from './mount-points.ts'
import { realPlace } from './real-place.ts'

/** Describes one step of `container.pl`: a name and its words. Steps are taken one after the other. */
export type Step = [name: string, ...words: string[]]

/** Says how much of the file system a container has for itself. */
export type FilesView = 'own' | 'mounts'

export interface ContainerView {
  files: FilesView
  /** An empty folder of the host, used by every container: what is mounted there, only that container sees. */
  scratch: string
  /** As the host has them, see {@link hostMounts}. */
  hostMounts: HostMount[]
  mounts: ViewMount[]
  hidden: Hidden
  /**
   * Says which processes the container sees: those of a PID namespace of its own, in which the program is process 1, or
   * of the pod's, which exists already.
   */
  processes: Processes
  hostname?: string
  /** An IPC namespace of its own, where it joins none. */
  ownIpc?: boolean
  /** Set if the kubelet is not root: the identity in a user namespace. */
  identity?: Identity
  /** Made, where all files are its own. */
  workingDir: string
  /** Most that it may write beside its volumes, where all files are its own. */
  layerBytes?: number
  /** Nothing is written but to volumes, where all files are its own. */
  readonlyRoot?: boolean
  /** The container may change `/proc/sys`, `/sys` and other settings of the machine. */
  machineSettings: boolean
}
export interface ViewMount extends Mount {
  isDirectory: boolean
}
export interface HostMount {
  path: string
  /** True if what the container writes there stays its own. */
  own: boolean
}

const newMountNamespace = 0x00020000
const newHostname = 0x04000000
const newUsers = 0x10000000
export const newProcesses = 0x20000000
export const newIpc = 0x08000000
const readOnly = 0x1
const noSuid = 0x2
const noDevices = 0x4
const noPrograms = 0x8
const remount = 0x20
const bind = 0x1000
const recursive = 0x4000
const isPrivate = 0x40000

const mount = (source: string, target: string, type: string, flags: number, data = ''): Step => [
  'mount',
  source,
  target,
  type,
  String(flags),
  data,
]

export const tmpfs = (target: string, options: string, flags = 0): Step =>
  mount('kubestage', target, 'tmpfs', flags, options)

/** The flags of the namespaces that it needs. */
export const viewFlags = ({ processes, hostname, identity, ownIpc }: ContainerView): number =>
  (identity ? newUsers : 0) |
  newMountNamespace |
  (processes === 'own' ? newProcesses : 0) |
  (hostname ? newHostname : 0) |
  (ownIpc ? newIpc : 0)

/**
 * Returns the steps that set up a container's view in a mount namespace. With `own` the container sees the host's files
 * below a layer of its own, devices, the host's other file systems, and the pod's volumes at their paths. With `mounts`
 * it sees only the volumes whose paths exist on the host.
 */
export function viewSteps(view: ContainerView): Step[] {
  const { hostname, files, identity } = view
  return [
    ...(identity ? [['identity', String(identity.uid), String(identity.gid)] satisfies Step] : []),
    mount('none', '/', '', recursive | isPrivate),
    ...(hostname ? [['hostname', hostname] satisfies Step] : []),
    ...(files === 'own' ? ownFiles(view) : machineFiles(view)),
  ]
}

/**
 * Volumes whose places are hidden are mounted upon the covers; from the working directory what is covered can still be
 * reached.
 */
function machineFiles(view: ContainerView): Step[] {
  const { hidden, mounts } = view
  const within = (folder: string) => (mount: ViewMount) => `${mount.containerPath}/`.startsWith(`${folder}/`)
  const seen = mounts.filter((mount) => !hidden.folders.some((folder) => within(folder)(mount)))
  return [
    ...ownProc(view, ''),
    ...volumes(seen, { root: '', isMade: false }),
    ...hidden.folders.flatMap((folder): Step[] => {
      const upon = mounts
        .filter(within(folder))
        .map((mount) => ({ ...mount, hostPath: fromWithin(folder, mount.hostPath) }))
      return [['within', folder], cover(folder), ...volumes(upon, { root: '', isMade: true })]
    }),
    ...hidden.files.map(coverFile),
    ['within', '/'],
  ]
}

const fromWithin = (folder: string, path: string): string =>
  path === folder ? '.' : isBelow(path, folder) ? path.slice(folder.length + 1) : path

const cover = (folder: string): Step => tmpfs(folder, 'mode=0755,size=64k,nr_inodes=1k')
const coverFile = (file: string): Step => ifPossible(mount('/dev/null', file, '', bind))

const ownCovers = ({ folders, files }: Hidden): Step[] => [
  ...folders.flatMap((folder): Step[] => [['directory', `root${folder}`], cover(`root${folder}`)]),
  ...files.map((file) => coverFile(`root${file}`)),
]

function ownFiles(view: ContainerView): Step[] {
  const { scratch, hostMounts, workingDir, layerBytes } = view
  return [
    tmpfs(scratch, layerBytes ? `mode=0755,size=${layerBytes}` : 'mode=0755'),
    ['within', scratch],
    ...layer('upper', '/', 'root'),
    ...devices,
    ...ownProc(view, 'root'),
    mount('/sys', 'root/sys', '', bind | recursive),
    ...hostMounts.flatMap(({ path, own }, index) =>
      own
        ? layer(`upper${index}`, path, `root${path}`, shortLived[path])
        : // Its mount point exists below. A user's own file system may refuse even root; it is then not visible.
          [ifPossible(mount(path, `root${path}`, '', bind | recursive))],
    ),
    ...(view.machineSettings ? [] : machineIsReadOnly),
    ...ownCovers(view.hidden),
    ...volumes(view.mounts, { root: 'root', isMade: true }),
    ['directory', `root${realPlace(workingDir)}`],
    ...(view.readonlyRoot ? sealed(view) : []),
    ['root', 'root'],
  ]
}

/**
 * Makes the root read-only when all mount points exist. A volume mounted in place of one of the host's file systems
 * stays as it is.
 */
const sealed = ({ hostMounts, mounts }: ContainerView): Step[] => [
  mount('none', 'root', '', bind | remount | readOnly),
  ...hostMounts
    .filter(({ path }) => !mounts.some(({ containerPath }) => containerPath === path))
    .map(({ path }) => ifPossible(mount('none', `root${path}`, '', bind | remount | readOnly))),
]

/** Relative paths throughout: a comma in the scratch folder's name would end an option. */
function layer(upper: string, lower: string, target: string, mode = 0o755): Step[] {
  const work = `${upper}.work`
  return [
    ['directory', upper],
    ['mode', String(mode), upper],
    ['directory', work],
    ['directory', target],
    mount('overlay', target, 'overlay', 0, `lowerdir=${escaped(lower)},upperdir=${upper},workdir=${work}`),
  ]
}
const escaped = (path: string): string => path.replace(/[\\,:]/g, '\\$&')

const character = 0o020666
const deviceNumbers = {
  null: [1, 3],
  zero: [1, 5],
  full: [1, 7],
  random: [1, 8],
  urandom: [1, 9],
  tty: [5, 0],
  ptmx: [5, 2],
}
const deviceLinks = { fd: '', stdin: '/0', stdout: '/1', stderr: '/2' }

const devices: Step[] = [
  // Beyond its layer: the size that container runtimes give /dev/shm.
  tmpfs('root/dev', 'mode=0755,size=64m,nr_inodes=64k', noSuid),
  ...Object.entries(deviceNumbers).map(
    ([name, [major = 0, minor = 0]]): Step => [
      'device',
      `root/dev/${name}`,
      String(character),
      String(major * 256 + minor),
    ],
  ),
  ...Object.entries(deviceLinks).map(([name, end]): Step => ['link', `/proc/self/fd${end}`, `root/dev/${name}`]),
  ['directory', 'root/dev/shm'],
  ['mode', String(0o1777), 'root/dev/shm'],
  ['directory', 'root/dev/pts'],
  mount('/dev/pts', 'root/dev/pts', '', bind),
]

const ownProc = ({ processes }: ContainerView, root: string): Step[] =>
  processes !== 'host'
    ? [mount('proc', `${root}/proc`, 'proc', noSuid | noDevices | noPrograms)]
    : root
      ? [mount('/proc', `${root}/proc`, '', bind | recursive)]
      : []

/** Where there is a root of the container's own, or a cover, places are made. */
const volumes = (mounts: ViewMount[], { root, isMade }: { root: string; isMade: boolean }): Step[] =>
  mounts.flatMap(({ hostPath, containerPath, readonly, isDirectory }) => {
    const target = `${root}${containerPath}`
    return [
      ...(isMade ? [[isDirectory ? 'directory' : 'file', target] satisfies Step] : []),
      mount(hostPath, target, '', bind | recursive),
      ...(readonly ? [mount('none', target, '', bind | remount | readOnly)] : []),
    ]
  })

function ifPossible([, ...words]: Step): Step {
  return ['mountIfPossible', ...words]
}

/**
 * As container runtimes show them to a container that is not privileged: settings can be read, memory and keys are not
 * there.
 */
const machineIsReadOnly: Step[] = [
  ['readonly', 'root/sys'],
  ...['bus', 'fs', 'irq', 'sys', 'sysrq-trigger'].flatMap((name): Step[] => [
    ifPossible(mount(`root/proc/${name}`, `root/proc/${name}`, '', bind | recursive)),
    ['readonlyIfPossible', `root/proc/${name}`],
  ]),
  ...['kcore', 'keys', 'latency_stats', 'sched_debug', 'timer_list'].map((name) =>
    ifPossible(mount('root/dev/null', `root/proc/${name}`, '', bind)),
  ),
]

/** Made in every container. */
const made = ['/proc', '/sys', '/dev']
/** Folders for temporary files, with their modes: file systems of their own need them as mount options. */
const shortLived: Record<string, number> = { '/tmp': 0o1777, '/run': 0o755, '/var/tmp': 0o1777 }

/**
 * The host's file systems beside its root, from the kernel's list (`/proc/self/mountinfo`); what is mounted below
 * another comes with it.
 */
export function hostMounts(mountinfo: string): HostMount[] {
  const paths = mountPoints(mountinfo).filter((path) => path !== '/')
  const isBelow = (path: string, others: string[]) =>
    others.some((other) => path === other || path.startsWith(`${other}/`))
  const distinct = [...new Set(paths)].sort()
  return distinct
    .filter(
      (path, index) =>
        !isBelow(path, made) &&
        !isBelow(
          path,
          distinct.slice(0, index).filter((other) => !(other in shortLived)),
        ),
    )
    .map((path) => ({ path, own: path in shortLived }))
}
