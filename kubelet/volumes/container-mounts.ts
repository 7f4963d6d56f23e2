import { closeSync, constants, fchmodSync, lstatSync, mkdirSync, openSync, realpathSync, statSync } from 'node:fs'
import path from 'node:path'
import type { Container, Pod } from '../../shared/api/types.ts'
import { expand } from '../pod/expansion.ts'
import type { Mount } from '../runtime/container-runtime.ts'
import { ImageVolumeError, type Volume, VolumeError } from './volume-payload.ts'

export interface ContainerMountsOptions {
  /** The container's, for `subPathExpr`. */
  env: Record<string, string>
  volumePath(pod: Pod, volume: Volume): string
  imageFolders: ReadonlyMap<string, string>
}

type VolumeMount = NonNullable<Container['volumeMounts']>[number]

/**
 * A container's volume mounts as its runtime needs them. A missing `subPath` becomes a folder; one that leads out of
 * its volume is an error.
 */
export function containerMounts(pod: Pod, container: Container, options: ContainerMountsOptions): Mount[] {
  const volumes = new Map((pod.spec.volumes ?? []).map((volume) => [volume.name, volume]))
  return (container.volumeMounts ?? []).map((mount) => {
    const volume = volumes.get(mount.name)
    if (!volume) throw new VolumeError(`cannot find volume "${mount.name}" to mount into container "${container.name}"`)
    const subPath = subPathOf(mount, options.env)
    const containerPath = path.resolve('/', mount.mountPath)
    if (volume.image)
      return { containerPath, hostPath: imagePath(volume, subPath, options.imageFolders), readonly: true }
    const root = options.volumePath(pod, volume)
    return {
      containerPath,
      hostPath: subPath ? within(root, subPath, { container, volume }) : root,
      readonly: (mount.readOnly ?? false) || readOnlyKinds.some((kind) => volume[kind] !== undefined),
    }
  })
}

/** Nothing is made in an image: a missing `subPath` is an error, and so is one that leads out of it. */
function imagePath(volume: Volume, subPath: string, folders: ReadonlyMap<string, string>): string {
  const folder = folders.get(volume.name)
  if (folder === undefined) throw new ImageVolumeError(volume, 'this node cannot mount images')
  try {
    const root = realpathSync(folder)
    return inside(root, realpathSync(path.join(root, subPath)))
  } catch {
    throw new ImageVolumeError(volume, `it has no ${subPath}`)
  }
}

/** The contents of these volumes come from the API and may be changed only there. */
const readOnlyKinds = ['configMap', 'secret', 'downwardAPI', 'projected'] as const

/**
 * Pod validation checks the text of `subPathExpr`, not its variables. Upstream: pkg/kubelet/kubelet_pods.go makeMounts.
 */
function subPathOf({ subPath, subPathExpr }: VolumeMount, env: Record<string, string>): string {
  const found = subPathExpr ? expandAll(subPathExpr, env) : (subPath ?? '')
  if (found.startsWith('/')) throw new VolumeError(`error SubPath \`${found}\` must not be an absolute path`)
  if (found.split('/').includes('..')) {
    throw new VolumeError(`unable to provision SubPath \`${found}\`: must not contain '..'`)
  }
  return found
}

/**
 * Unlike in commands, an empty variable counts as missing. Upstream: pkg/kubelet/container ExpandContainerVolumeMounts.
 */
function expandAll(text: string, env: Record<string, string>): string {
  const missing = new Set<string>()
  const expanded = expand(text, (name) => {
    if (!env[name]) missing.add(name)
    return env[name]
  })
  if (missing.size > 0) throw new VolumeError(`missing value for ${[...missing].sort().join(', ')}`)
  return expanded
}

/** Links are followed once, now: what a container may change later leads nowhere else. */
function within(
  root: string,
  subPath: string,
  { container, volume }: { container: Container; volume: Volume },
): string {
  const fail = (): never => {
    throw new VolumeError(`failed to prepare subPath for volumeMount "${volume.name}" of container "${container.name}"`)
  }
  const wanted = path.join(root, subPath)
  if (!isWithin(root, wanted)) fail()
  try {
    mkdirSync(root, { recursive: true })
    const real = realpathSync(root)
    return lstatSync(wanted, { throwIfNoEntry: false })
      ? inside(real, realpathSync(wanted))
      : makeFolders(real, subPath)
  } catch {
    return fail()
  }
}

/**
 * Makes the missing folders of a path below `root`, which is real, and gives the last one the mode of `root`: its group
 * comes with the bit for it. Upstream: doSafeMakeDir in pkg/volume/util/subpath.
 */
function makeFolders(root: string, subPath: string): string {
  const mode = statSync(root).mode & INHERITED_MODE
  let folder = root
  for (const name of subPath.split('/').filter((name) => name !== '' && name !== '.')) {
    const next = path.join(folder, name)
    const isThere = lstatSync(next, { throwIfNoEntry: false }) !== undefined
    if (!isThere) mkdirSync(next, { mode })
    folder = inside(root, realpathSync(next))
  }
  const last = openSync(folder, constants.O_DIRECTORY | constants.O_NOFOLLOW)
  fchmodSync(last, mode)
  closeSync(last)
  return folder
}

/** Permissions and the bit for the group; not the sticky one. */
const INHERITED_MODE = 0o2777

function inside(root: string, file: string): string {
  if (!isWithin(root, file)) throw new Error(`${file} is not below ${root}`)
  return file
}

const isWithin = (root: string, file: string): boolean => file === root || file.startsWith(`${root}/`)
