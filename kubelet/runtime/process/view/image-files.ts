import type { ImageRoot } from '../../container-runtime.ts'
import { devices, machineIsReadOnly, ownGroups, proc, type Roots, sys } from './kernel-files.ts'
import { flags, mount, type Step, tmpfs } from './steps.ts'
import { mayMakeDevices, USERS } from './users-here.ts'
import type { ContainerView, ViewMount } from './view.ts'

const { bind, recursive, remount, readOnly } = flags

/** After the step `pivot`: paths of the container are absolute, those of the machine count from the working directory. */
const roots: Roots = { root: '', machine: '' }

/**
 * The files of an image below a layer of the container's own. All is mounted from within the container's root, so that
 * no link of the image or of a volume leads to the machine's files.
 */
export function imageFiles(view: ContainerView, { folder, volumes }: ImageRoot): Step[] {
  const { scratch, layerBytes, mounts, processes, identity, machineSettings, readonlyRoot, workingDir } = view
  const { firstUser, openProc } = view
  const lower = firstUser === undefined ? folder : 'lower'
  const place = firstUser === undefined ? mount : mountForUsers
  return [
    ...(firstUser === undefined ? [] : [['users', String(firstUser), String(USERS)] satisfies Step]),
    tmpfs(scratch, layerBytes ? `mode=0755,size=${layerBytes}` : 'mode=0755'),
    ['within', scratch],
    ...['upper', 'upper.work', 'root'].map((name): Step => ['directory', name]),
    ['mode', String(0o755), 'upper'],
    // Relative paths: a comma in the scratch folder's name would end an option.
    ...(lower === folder ? [] : [['directory', lower] satisfies Step, mountForUsers(folder, lower)]),
    ['layer', lower, 'root', `lowerdir=${escaped(lower)},upperdir=upper,workdir=upper.work`],
    ['pivot', 'root'],
    ...['/dev', '/proc', '/sys'].map((path): Step => ['directory', path]),
    ...devices(roots, { areMade: !identity && mayMakeDevices() }),
    ...proc(roots, processes),
    ...sys(roots),
    ...ownGroups(roots, view),
    ...(machineSettings ? [] : machineIsReadOnly(roots, { openProc })),
    ...mounts.flatMap((volume) => volumeSteps(volume, place)),
    ['directory', workingDir],
    ...(readonlyRoot ? sealed(volumes, mounts) : []),
    ['leave'],
    ...(firstUser === undefined ? [] : [['becomeRoot'] satisfies Step]),
  ]
}

const escaped = (path: string): string => path.replace(/[\\,:]/g, '\\$&')

/** Mounts a folder whose files belong to the container's users as they belong to the machine's. */
const mountForUsers = (source: string, target: string): Step => ['mountForUsers', source, target]

const volumeSteps = (
  { hostPath, containerPath, readonly, isDirectory }: ViewMount,
  place: (source: string, target: string, type: string, flags: number) => Step,
): Step[] => [
  [isDirectory ? 'directory' : 'file', containerPath],
  place(hostPath.slice(1) || '.', containerPath, '', bind | recursive),
  ...(readonly ? [mount('none', containerPath, '', bind | remount | readOnly)] : []),
]

/** Makes the root read-only but for the image's volumes on which the pod mounts nothing. */
const sealed = (volumes: readonly string[], mounts: readonly ViewMount[]): Step[] => [
  ...volumes
    .filter((path) => path.startsWith('/') && !mounts.some(({ containerPath }) => containerPath === path))
    .flatMap((path): Step[] => [['directory', path], mount(path, path, '', bind)]),
  mount('none', '/', '', bind | remount | readOnly),
]
