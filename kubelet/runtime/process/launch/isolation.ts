import { execFile } from 'node:child_process'
import { accessSync, constants, existsSync, mkdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import path from 'node:path'
import type { Mount, RuntimeCapabilities } from '../../container-runtime.ts'
import { runtimeDir } from '../shim/shim.ts'
import { systemCalls } from '../shim/system-calls.ts'
import { hostMounts, viewFlags, viewSteps } from '../view/container-view.ts'
import { hiddenPlaces, isBelow } from '../view/hidden.ts'
import { ordinaryIdentity } from '../view/identity.ts'
import { type MountPoint, mounts } from '../view/mount-points.ts'
import { realPlace } from '../view/real-place.ts'
import type { ContainerView, HostMount, ViewMount } from '../view/view.ts'
import { aloneLaunch } from './launch.ts'

/**
 * Returns the best isolation that this machine allows, which it finds by trial. Namespaces need Linux, and root or user
 * namespaces; an own file system needs root.
 */
export async function possibleIsolation(options: {
  rootDir: string
  /** Allows `mounts` at most. */
  hostFiles?: boolean
}): Promise<RuntimeCapabilities> {
  const { rootDir, hostFiles = false } = options
  for (const files of hostFiles ? (['mounts'] as const) : (['own', 'mounts'] as const))
    if (await isPossible(rootDir, files)) return { isolation: 'pod', files }
  return { isolation: 'none', files: 'host' }
}

export const scratchDir = (runtimeRoot: string): string => path.join(runtimeRoot, 'view')

async function isPossible(rootDir: string, files: ContainerView['files']): Promise<boolean> {
  if (systemCalls().length === 0 || !isReadable('/proc/self/mountinfo')) return false
  const scratch = scratchDir(runtimeDir(rootDir))
  mkdirSync(scratch, { recursive: true })
  const view: ContainerView = {
    files,
    scratch,
    ...machineView([rootDir]),
    mounts: [],
    processes: 'own',
    hostname: 'trial',
    ownIpc: true,
    identity: ordinaryIdentity(),
    workingDir: '/',
    machineSettings: false,
  }
  const { file, args } = aloneLaunch([
    ['namespaces', String(viewFlags(view))],
    ['fork'],
    ...viewSteps(view),
    ['run', '/bin/true'],
  ])
  return new Promise((resolve) => {
    execFile(file, args, (error) => resolve(!error))
  })
}

/** A machine, or a container, may be without a /proc, or with half of one. */
function isReadable(file: string): boolean {
  try {
    accessSync(file, constants.R_OK)
    return true
  } catch {
    return false
  }
}

let last: { mountinfo: string; mounted: MountPoint[]; shown: HostMount[] } | undefined

/** Reads the kernel's list for each container; it is seldom another one than before. */
function mountsNow(): NonNullable<typeof last> {
  const mountinfo = readFileSync('/proc/self/mountinfo', 'utf8')
  if (last?.mountinfo === mountinfo) return last
  const mounted = mounts(mountinfo)
  last = { mountinfo, mounted, shown: hostMounts(mounted) }
  return last
}

/**
 * Returns what containers see of the machine's file system as it is now. Volumes of pods are mounted within the hidden
 * folders.
 */
export function machineView(hiddenPaths: readonly string[]): Pick<ContainerView, 'hostMounts' | 'hidden'> {
  const { mounted, shown } = mountsNow()
  const hidden = hiddenPlaces(hiddenPaths, mounted)
  const isSeen = ({ path }: HostMount): boolean => !hidden.folders.some((folder) => isBelow(path, folder))
  return { hidden, hostMounts: shown.filter(isSeen) }
}

/**
 * A host path that is missing becomes a folder, as with container runtimes. Without an own view, only what has its
 * place can be mounted.
 */
export function viewMounts(mounts: Mount[], files: ContainerView['files'] | 'image'): ViewMount[] {
  return mounts
    .filter(({ containerPath }) => files !== 'mounts' || existsSync(containerPath))
    .map((mount) => {
      const stat = statSync(mount.hostPath, { throwIfNoEntry: false })
      if (!stat) mkdirSync(mount.hostPath, { recursive: true })
      const isDirectory = stat?.isDirectory() ?? true
      // Links are followed by the machine at the source, and by the container at its place.
      if (files === 'image') return { ...mount, hostPath: realpathSync.native(mount.hostPath), isDirectory }
      return { ...mount, containerPath: realPlace(mount.containerPath), isDirectory }
    })
}
