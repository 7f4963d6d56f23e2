import { accessSync, closeSync, constants, mkdirSync, openSync, readSync, type Stats, statSync } from 'node:fs'
import path from 'node:path'
import type { Mount } from './container-runtime.ts'

const elf = Buffer.from([0x7f, 0x45, 0x4c, 0x46])

/** Returns the path on the host of what a container sees at `containerPath`. */
export type HostPath = (containerPath: string) => string
const asOnHost: HostPath = (containerPath) => containerPath

/** Returns the host paths of a container with these mounts, of which the last that matches wins, and else `otherwise`. */
export const throughMounts =
  (mounts: Mount[], otherwise: HostPath = asOnHost): HostPath =>
  (containerPath) => {
    const mount = mounts.findLast((mount) => `${containerPath}/`.startsWith(`${mount.containerPath}/`))
    return mount ? path.join(mount.hostPath, containerPath.slice(mount.containerPath.length)) : otherwise(containerPath)
  }

interface SearchOptions {
  searchPath: string
  workingDir: string
  hostPath?: HostPath
}

/**
 * Returns a container runtime's message if the command cannot be executed, else undefined. It is called before the
 * start, because a shell has other messages, and runs any text file as a script.
 */
export function whyNotExecutable(command: string[], options: SearchOptions): string | undefined {
  const found = locateProgram(command, options)
  return 'problem' in found ? found.problem : undefined
}

/** The file that a command runs, as the container sees it, or why it cannot be executed. */
export function locateProgram(command: string[], options: SearchOptions): { file: string } | { problem: string } {
  const { hostPath = asOnHost } = options
  const [name = ''] = command
  if (name === '') return { problem: 'exec: "": executable file not found in $PATH' }
  if (name.includes('/')) {
    const file = path.resolve(options.workingDir, name)
    const problem = whyNotRunnable(hostPath(file), name)
    return problem ? { problem: `exec: "${name}": ${problem}` } : { file }
  }
  let denied = false
  for (const directory of options.searchPath.split(':')) {
    const file = path.join(directory || options.workingDir, name)
    const problem = whyNotRunnable(hostPath(file), file)
    if (problem === undefined) return { file }
    if (problem.endsWith('exec format error')) return { problem }
    if (problem.endsWith('permission denied')) denied = true
  }
  return { problem: `exec: "${name}": ${denied ? 'permission denied' : 'executable file not found in $PATH'}` }
}

/**
 * A missing working directory is made, as container runtimes do; in a container's own view the code that makes the view
 * does so.
 */
export function whyNoWorkingDir(directory: string, hostPath?: HostPath): string | undefined {
  try {
    const stat = statSync((hostPath ?? asOnHost)(directory), { throwIfNoEntry: false })
    if (hostPath && !stat) return undefined
    if (hostPath && !stat?.isDirectory()) return `error during container init: mkdir ${directory}: not a directory`
    if (!stat?.isDirectory()) mkdirSync(directory, { recursive: true })
    return undefined
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code === 'EACCES' ? 'permission denied' : 'not a directory'
    return `error during container init: mkdir ${directory}: ${why}`
  }
}

function whyNotRunnable(file: string, shown: string): string | undefined {
  const stat = lookUp(file)
  if (stat === 'denied') return 'permission denied'
  if (!stat) return `stat ${shown}: no such file or directory`
  if (stat.isDirectory()) return 'is a directory'
  try {
    accessSync(file, constants.X_OK)
  } catch {
    return 'permission denied'
  }
  return isProgram(file) ? undefined : 'exec format error'
}

function lookUp(file: string): Stats | 'denied' | undefined {
  try {
    return statSync(file, { throwIfNoEntry: false })
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EACCES' ? 'denied' : undefined
  }
}

/** Linux executes what begins so; elsewhere we let the system judge. */
function isProgram(file: string): boolean {
  if (process.platform !== 'linux') return true
  const head = Buffer.alloc(4)
  let fd: number | undefined
  try {
    fd = openSync(file, 'r')
    readSync(fd, head, 0, head.length, 0)
  } catch {
    return true // A user that may execute a file need not be allowed to read it.
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
  return head.equals(elf) || head.subarray(0, 2).toString() === '#!'
}
