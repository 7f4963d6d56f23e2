import { spawn } from 'node:child_process'
import { closeSync, constants, openSync } from 'node:fs'
import path from 'node:path'
import { defaultPath } from '../default-path.ts'
import { systemCalls } from './system-calls.ts'

/** Where the runtime keeps its files, under the kubelet's root. */
export const runtimeDir = (rootDir: string): string => path.join(rootDir, 'runtime')

/**
 * How a supervisor starts the shim: with a pipe as stdin whose other end only it keeps. When that end closes, also
 * because the supervisor was killed, the shim kills every container and ends; with a grace of `graceMs` for a kubelet
 * that still runs, and is expected to end its pods by itself. SIGTERM ends it at once.
 */
export const startShim = (options: { rootDir: string; graceMs?: number }): { command: string; args: string[] } =>
  shimCommand(options.rootDir, options.graceMs ? String(Math.ceil(options.graceMs / 1000)) : 'supervised')

/** One that was killed leaves its files: only one that lives reads requests. */
export function isShimThere({ rootDir }: { rootDir: string }): boolean {
  try {
    closeSync(openSync(path.join(runtimeDir(rootDir), 'requests'), constants.O_WRONLY | constants.O_NONBLOCK))
    return true
  } catch {
    return false
  }
}

/** For a kubelet without a supervisor: a shim that lives until it is told to end. */
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
