import { spawn } from 'node:child_process'
import path from 'node:path'
import { systemCalls } from './system-calls.ts'

/** Where the runtime keeps its files, under the kubelet's root. */
export const runtimeDir = (rootDir: string): string => path.join(rootDir, 'runtime')

/**
 * How a supervisor starts the shim: with a pipe as stdin whose other end it keeps, and nobody else.
 * When that end closes, also because the supervisor was killed, the shim kills every container and ends.
 */
export const startShim = ({ rootDir }: { rootDir: string }): { command: string; args: string[] } =>
  shimCommand(rootDir, 'supervised')

/** For a kubelet without a supervisor: a shim that lives until it is told to end. */
export function startShimAlone({ rootDir }: { rootDir: string }): void {
  const { command, args } = shimCommand(rootDir, 'alone')
  spawn(command, args, { detached: true, stdio: 'ignore', env: { PATH: defaultPath } })
    .on('error', () => {})
    .unref()
}

const shimCommand = (rootDir: string, mode: 'supervised' | 'alone') => ({
  command: 'perl',
  args: [path.join(import.meta.dirname, 'shim.pl'), runtimeDir(rootDir), mode, ...systemCalls()],
})

export const defaultPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
