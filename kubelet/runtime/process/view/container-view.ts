import type { ImageRoot } from '../../container-runtime.ts'
import { type Hidden, isBelow } from './hidden.ts'
import type { Identity } from './identity.ts'
import { imageFiles } from './image-files.ts'
import { devices, machineIsReadOnly, ownGroups, proc, type Roots, sys } from './kernel-files.ts'
import type { MountPoint } from './mount-points.ts'
import { realPlace } from './real-place.ts'
import { flags, ifPossible, mount, type Step, tmpfs } from './steps.ts'
import { mayMakeDevices } from './users-here.ts'
import type { ContainerView, HostMount, ViewMount } from './view.ts'

const newMountNamespace = 0x00020000
const newHostname = 0x04000000
const newUsers = 0x10000000
export const newProcesses = 0x20000000
export const newIpc = 0x08000000
/** Shows its own control group as the root of all. Made by the process itself, once it is in the group. */
export const newCgroups = 0x02000000
const { readOnly, remount, bind, recursive, isPrivate } = flags

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
  const { hostname, files, identity, image } = view
  return [
    ...(identity ? identitySteps(identity, image) : []),
    mount('none', '/', '', recursive | isPrivate),
    ...(hostname ? [['hostname', hostname] satisfies Step] : []),
    ...(image ? imageFiles(view, image) : files === 'own' ? ownFiles(view) : machineFiles(view)),
  ]
}

/** An ordinary user is the only one of its user namespace: with the files of an image as root, else as itself. */
function identitySteps({ uid, gid }: Identity, image: ImageRoot | undefined): Step[] {
  const [user, group] = image ? [0, 0] : [uid, gid]
  return [['identity', ...[user, uid, group, gid].map(String)]]
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
    ...(view.processes === 'host' ? [] : proc({ root: '', machine: '/' }, view.processes)),
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

const roots: Roots = { root: 'root', machine: '/' }

function ownFiles(view: ContainerView): Step[] {
  const { scratch, hostMounts, workingDir, layerBytes } = view
  return [
    tmpfs(scratch, layerBytes ? `mode=0755,size=${layerBytes}` : 'mode=0755'),
    ['within', scratch],
    ...layer('upper', '/', 'root'),
    ...devices(roots, { areMade: mayMakeDevices() }),
    ...proc(roots, view.processes),
    ...sys(roots),
    ...ownGroups(roots, view),
    ...hostMounts.flatMap(({ path, own }, index) =>
      own
        ? layer(`upper${index}`, path, `root${path}`, shortLived[path])
        : // Its mount point exists below. A user's own file system may refuse even root; it is then not visible.
          [ifPossible(mount(path, `root${path}`, '', bind | recursive))],
    ),
    ...(view.machineSettings ? [] : machineIsReadOnly(roots)),
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

/** Made in every container. */
const made = ['/proc', '/sys', '/dev']
/** Folders for temporary files, with their modes: file systems of their own need them as mount options. */
const shortLived: Record<string, number> = { '/tmp': 0o1777, '/run': 0o755, '/var/tmp': 0o1777 }

/**
 * The host's file systems beside its root, of all that are mounted; what is mounted below another comes with it.
 */
export function hostMounts(mounts: readonly MountPoint[]): HostMount[] {
  const paths = mounts.map(({ place }) => place).filter((path) => path !== '/')
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
