import os from 'node:os'
import type { ContainerConfig, RuntimeCapabilities, Sandbox } from '../../container-runtime.ts'
import { defaultPath } from '../../default-path.ts'
import { clockFileVariable, ownClockFile } from '../clock-file.ts'
import { marker, markerVariable } from '../marker.ts'
import type { StoredContainer } from '../record-store.ts'
import { newCgroups, viewFlags, viewSteps } from '../view/container-view.ts'
import { ordinaryIdentity } from '../view/identity.ts'
import type { Step } from '../view/steps.ts'
import type { ContainerView } from '../view/view.ts'
import { machineView, scratchDir, viewMounts } from './isolation.ts'
import type { Launch, Namespaces } from './launch.ts'
import type { ProgramUser } from './program-user.ts'

/** Returns the environment that every process of the container gets. */
export function containerEnvironment(
  config: Pick<ContainerConfig, 'env' | 'path' | 'tty'>,
  {
    hostname,
    runtimeRoot,
    containerId,
    clockFile,
    ownFiles,
    user,
  }: {
    hostname: string
    runtimeRoot: string
    containerId: string
    /** The machine's path. */
    clockFile: string
    ownFiles: boolean
    user?: ProgramUser
  },
): Record<string, string> {
  return {
    HOSTNAME: hostname,
    HOME: user?.home ?? os.homedir(),
    ...(config.tty && { TERM: 'xterm' }),
    ...config.env,
    PATH: [...config.path, config.env.PATH || defaultPath].join(':'),
    [clockFileVariable]: ownFiles ? ownClockFile : clockFile,
    [markerVariable]: marker(runtimeRoot, containerId),
  }
}

export interface LaunchOptions {
  sandbox: Sandbox
  capabilities: RuntimeCapabilities
  /** A process whose PID namespace the container joins, if any. */
  besidePid?: number
  /** A process whose IPC namespace the container joins, if any. */
  ipcPid?: number
  env: Record<string, string>
  workingDir: string
  runtimeRoot: string
  clockFile: string
  /** Files and folders that it does not see. */
  hidden: readonly string[]
  /** Limits the size of the container's own layer. */
  layerBytes?: number
  user?: ProgramUser
  /** Files by which it enters its control group, and the group's folders by controller; none without limits. */
  entrances: readonly string[]
  groups: readonly (readonly [controller: string, folder: string])[]
}

export const containerLaunch = (stored: StoredContainer, options: LaunchOptions): Launch => ({
  command: stored.command,
  env: options.env,
  workingDir: options.workingDir,
  rights: stored.rights,
  user: options.user,
  ...(stored.seccomp && { seccomp: stored.seccomp }),
  entrances: options.entrances,
  ...(stored.oomScore !== undefined && { oomScore: stored.oomScore }),
  namespaces: namespacesOf(stored, options),
})

const nothingOfTheMachine = { hostMounts: [], hidden: { folders: [], files: [] } }

function namespacesOf(stored: StoredContainer, options: LaunchOptions): Namespaces {
  const { sandbox, capabilities, besidePid, ipcPid, workingDir, runtimeRoot, clockFile, hidden, layerBytes } = options
  const { groups } = options
  const { isolation, files } = capabilities
  if (isolation === 'none') return { kind: 'none' }
  const { ownFiles, root: image } = stored
  const { firstUser } = sandbox
  const hasOwnUsers = firstUser !== undefined || ordinaryIdentity() !== undefined
  const users = { firstUser, openProc: hasOwnUsers && stored.rights?.openProc }
  const clock = { hostPath: clockFile, containerPath: ownFiles ? ownClockFile : clockFile, readonly: true }
  const mounts = [clock, ...((files !== 'host' && stored.mounts) || [])]
  const filesView = files === 'own' ? 'own' : 'mounts'
  const view: ContainerView = {
    files: filesView,
    ...(image && { image }),
    scratch: scratchDir(runtimeRoot),
    ...(image ? nothingOfTheMachine : machineView(hidden)),
    mounts: viewMounts(mounts, image ? 'image' : filesView),
    processes: stored.processes,
    ...(!sandbox.hostNetwork && { hostname: sandbox.hostname }),
    // Non-root users cannot join a namespace that another process created, so each container gets its own.
    ownIpc: stored.ownIpc && ordinaryIdentity() !== undefined,
    identity: ordinaryIdentity(),
    workingDir,
    readonlyRoot: stored.readonlyRoot,
    layerBytes,
    machineSettings: stored.rights?.privileged ?? true,
    ...(image && users),
    groups,
  }
  const joined: Step[] = [
    ...(groups.length > 0 ? [['namespaces', String(newCgroups)] satisfies Step] : []),
    ...(ipcPid ? [['enter', String(ipcPid), 'ipc'] satisfies Step] : []),
  ]
  return { kind: 'new', flags: viewFlags(view), besidePid, steps: [...joined, ...viewSteps(view)] }
}
