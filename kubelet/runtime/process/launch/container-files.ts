import type { ContainerConfig, Mount, RuntimeCapabilities } from '../../container-runtime.ts'
import { type HostPath, throughMounts } from '../../executable.ts'
import { placeInRoot } from '../../place-in-root.ts'
import { imageUser } from './image-user.ts'
import { type ProgramUser, programUser } from './program-user.ts'

/** Says which files a container is going to have, and which user. */
export interface ContainerFiles {
  /** The container has its own view of the files. */
  ownFiles: boolean
  user?: ProgramUser
  /** Finds the container's paths on the machine; absent if they are the same. */
  hostPath?: HostPath
}

/** Throws a StartError for a user that the container's image does not know. */
export function containerFiles(
  { root, user, mounts = [] }: Pick<ContainerConfig, 'root' | 'user' | 'mounts'>,
  { files }: RuntimeCapabilities,
): ContainerFiles {
  if (root) return { ownFiles: true, user: imageUser(root, user), hostPath: inImage(root.folder, mounts) }
  if (files !== 'own') return { ownFiles: false }
  return { ownFiles: true, user: programUser(user), hostPath: throughMounts(mounts) }
}

function inImage(folder: string, mounts: Mount[]): HostPath {
  const placed = throughMounts(mounts, (path) => folder + path)
  return (path) => placeInRoot(path, placed)
}
