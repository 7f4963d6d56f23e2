import { spawn } from 'node:child_process'
import { closeSync, constants, openSync, writeSync } from 'node:fs'
import path from 'node:path'
import type { Clock } from '../../../shared/clock/clock.ts'

/** Where the runtime keeps its files, under the kubelet's root. */
export const runtimeDir = (rootDir: string): string => path.join(rootDir, 'runtime')

/**
 * How a supervisor starts the shim: with a pipe as stdin whose other end it keeps, and nobody else.
 * When that end closes, also because the supervisor was killed, the shim kills every container and ends.
 */
export function startShim({ rootDir }: { rootDir: string }): { command: string; args: string[] } {
  return { command: 'bash', args: [path.join(import.meta.dirname, 'shim.sh'), runtimeDir(rootDir)] }
}

/** For a kubelet without a supervisor: a shim that lives until it is told to end. */
export function startShimAlone({ rootDir }: { rootDir: string }): void {
  const { command, args } = startShim({ rootDir })
  const env = { PATH: defaultPath }
  spawn(command, [...args, 'alone'], { detached: true, stdio: 'ignore', env })
    .on('error', () => {})
    .unref()
}

export const defaultPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

const retryMs = 5
const attempts = 1_000

/** The line to a running shim. Requests are whole lines shorter than a pipe's atomic write, so that they never mix. */
export interface ShimRequests {
  run(dir: 'containers' | 'execs', id: string): void
  pipes(name: string, count: number): void
  /** Ends all containers and the shim. */
  end(): void
  close(): void
}

/** Undefined while nobody reads: no shim is there. */
export function openRequests(rootDir: string): ShimRequests | undefined {
  let fd: number
  try {
    fd = openSync(path.join(runtimeDir(rootDir), 'requests'), constants.O_WRONLY | constants.O_NONBLOCK)
  } catch {
    return undefined
  }
  const send = (line: string) => void writeSync(fd, `${line}\n`)
  return {
    run: (dir, id) => send(`run ${dir}/${id}`),
    pipes: (name, count) => send(`pipes ${name} ${count}`),
    end: () => send('end'),
    close: () => closeSync(fd),
  }
}

/** Waits for the shim that a supervisor starts beside us, at most five seconds. */
export async function connectShim(rootDir: string, clock: Clock): Promise<ShimRequests> {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const requests = openRequests(rootDir)
    if (requests) return requests
    await clock.sleep(retryMs)
  }
  throw new Error(
    `no shim answers in ${runtimeDir(rootDir)}: it starts the containers, and bash must be installed for it`,
  )
}
