import { spawn } from 'node:child_process'
import { closeSync, constants, openSync } from 'node:fs'
import path from 'node:path'
import { defaultPath } from '../../default-path.ts'
import { systemCalls } from './system-calls.ts'

/** Where the runtime keeps its files, under the kubelet's root. */
export const runtimeDir = (rootDir: string): string => path.join(rootDir, 'runtime')

/**
 * Returns the command with which a supervisor starts the shim. Its stdin must be a pipe whose other end only the
 * supervisor holds. When that end closes, also because the supervisor was killed, the shim kills every container and
 * exits. `graceMs` gives a kubelet that still runs the time to end its pods itself. SIGTERM ends the shim at once.
 */
export const startShim = (options: { rootDir: string; graceMs?: number }): { command: string; args: string[] } =>
  shimCommand(options.rootDir, options.graceMs ? String(Math.ceil(options.graceMs / 1000)) : 'supervised')

/**
 * Returns true if a shim runs. A killed shim leaves its files behind, so the check is that a process reads the
 * requests.
 */
export function isShimThere({ rootDir }: { rootDir: string }): boolean {
  try {
    closeSync(openSync(path.join(runtimeDir(rootDir), 'requests'), constants.O_WRONLY | constants.O_NONBLOCK))
    return true
  } catch {
    return false
  }
}

/** Starts a shim for a kubelet without a supervisor. The shim lives until it is asked to end. */
export function startShimAlone({ rootDir }: { rootDir: string }): void {
  const { command, args } = shimCommand(rootDir, 'alone')
  spawn(command, args, { detached: true, stdio: 'ignore', env: { PATH: defaultPath } })
    .on('error', () => {})
    .unref()
}

const shimCommand = (rootDir: string, mode: string) => ({
  command: 'perl',
  args: [path.join(import.meta.dirname, 'shim.pl'), runtimeDir(rootDir), mode, ...systemCalls()],
})
