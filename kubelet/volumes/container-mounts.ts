import { lstatSync, mkdirSync, realpathSync } from 'node:fs'
import path from 'node:path'
import type { Container, Pod } from '../../shared/api/types.ts'
import { expand } from '../pod/expansion.ts'
import type { Mount } from '../runtime/container-runtime.ts'
import { ImageVolumeError, type Volume, VolumeError } from './volume-payload.ts'

export interface ContainerMountsOptions {
  /** The container's, for `subPathExpr`. */
  env: Record<string, string>
  volumePath(pod: Pod, volume: Volume): string
}

type VolumeMount = NonNullable<Container['volumeMounts']>[number]

/**
 * A container's volume mounts as its runtime needs them. A missing `subPath` becomes a folder; one that leads out of
 * its volume is an error.
 */
export function containerMounts(pod: Pod, container: Container, options: ContainerMountsOptions): Mount[] {
  return (container.volumeMounts ?? []).map((mount) => {
    const volume = pod.spec.volumes?.find(({ name }) => name === mount.name)
    if (!volume) throw new VolumeError(`cannot find volume "${mount.name}" to mount into container "${container.name}"`)
    if (volume.image) throw new ImageVolumeError(volume)
    const root = options.volumePath(pod, volume)
    const subPath = subPathOf(mount, options.env)
    return {
      containerPath: path.resolve('/', mount.mountPath),
      hostPath: subPath ? within(root, subPath, { container, volume }) : root,
      readonly: (mount.readOnly ?? false) || readOnlyKinds.some((kind) => volume[kind] !== undefined),
    }
  })
}

/** Their contents come from the API, and may be changed there only. */
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
  const isThere = lstatSync(wanted, { throwIfNoEntry: false }) !== undefined
  try {
    if (!isThere) mkdirSync(wanted, { recursive: true, mode: 0o755 })
    const real = realpathSync(wanted)
    return isWithin(realpathSync(root), real) ? real : fail()
  } catch {
    return fail()
  }
}

const isWithin = (root: string, file: string): boolean => file === root || file.startsWith(`${root}/`)
