import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import type { Mount, RuntimeCapabilities } from '../container-runtime.ts'
import { type ContainerView, callsOf, hostMounts, type ViewMount, viewWords } from './container-view.ts'
import { containerScript, newNamespaces, perl } from './launch-script.ts'
import { realPlace } from './real-place.ts'
import { runtimeDir } from './shim.ts'

/** What this machine lets us do, the best first. Tried, not guessed: namespaces need Linux and, mostly, root; a view of the files also needs Perl. */
export async function possibleIsolation(options: {
  rootDir: string
  /** Not more than `mounts`. */
  hostFiles?: boolean
}): Promise<RuntimeCapabilities> {
  const { rootDir, hostFiles = false } = options
  for (const files of hostFiles ? (['mounts'] as const) : (['own', 'mounts'] as const))
    if (await isPossible(rootDir, files)) return { isolation: 'pod', files }
  const [unshare = '', ...args] = newNamespaces
  return { isolation: (await succeeds(unshare, [...args, '/bin/true'])) ? 'pod' : 'none', files: 'host' }
}

export const scratchDir = (runtimeRoot: string): string => path.join(runtimeRoot, 'view')

function isPossible(rootDir: string, files: ContainerView['files']): Promise<boolean> | boolean {
  const numbers = callsOf(process.arch)
  if (process.platform !== 'linux' || !numbers) return false
  const scratch = scratchDir(runtimeDir(rootDir))
  mkdirSync(scratch, { recursive: true })
  const view: ContainerView = {
    files,
    scratch,
    hostMounts: currentHostMounts(),
    mounts: [],
    ownProcesses: true,
    hostname: 'trial',
    workingDir: '/',
    env: [],
    command: ['/bin/true'],
  }
  return succeeds(perl, [containerScript, ...viewWords(view, numbers)])
}

export const currentHostMounts = () => hostMounts(readFileSync('/proc/self/mountinfo', 'utf8'))

const succeeds = (program: string, args: string[]): Promise<boolean> =>
  new Promise((resolve) => {
    execFile(program, args, { env: {} }, (error) => resolve(!error))
  })

/** A host path that is missing becomes a folder, as with container runtimes. Without an own view, only what has its place can be mounted. */
export function viewMounts(mounts: Mount[], files: ContainerView['files']): ViewMount[] {
  return mounts
    .filter(({ containerPath }) => files === 'own' || existsSync(containerPath))
    .map((mount) => {
      const stat = statSync(mount.hostPath, { throwIfNoEntry: false })
      if (!stat) mkdirSync(mount.hostPath, { recursive: true })
      return { ...mount, containerPath: realPlace(mount.containerPath), isDirectory: stat?.isDirectory() ?? true }
    })
}
