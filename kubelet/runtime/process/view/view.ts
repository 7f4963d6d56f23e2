import type { ImageRoot, Mount } from '../../container-runtime.ts'
import type { Processes } from '../record-store.ts'
import type { Hidden } from './hidden.ts'
import type { Identity } from './identity.ts'

/** Says how much of the file system a container has for itself. */
export type FilesView = 'own' | 'mounts'

export interface ContainerView {
  files: FilesView
  /** Holds the files that the container has instead of the machine's. */
  image?: ImageRoot
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
  /** The first of its own users, as the machine counts them; only with the files of an image. */
  firstUser?: number
  /** The container sees all of `/proc`, and may write to it. */
  openProc?: boolean
  /** Made, where all files are its own. */
  workingDir: string
  /** Most that it may write beside its volumes, where all files are its own. */
  layerBytes?: number
  /** Nothing is written but to volumes, where all files are its own. */
  readonlyRoot?: boolean
  /** Folders of its control group, by controller, which it sees instead of the machine's; one for all is version 2. */
  groups?: readonly (readonly [controller: string, folder: string])[]
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
