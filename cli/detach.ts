import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../shared/clock/clock.ts'
import { ConfigError } from '../shared/config/option.ts'
import { packageRoot } from './package.ts'
import { findRunning, type RunningCluster } from './running.ts'
import { stateDirectory } from './state-directory.ts'
import { spawnDetached } from './supervisor/detached.ts'

const stepMs = 20
const patienceMs = 60_000

export interface DetachOptions {
  stateDir: string
  /** Flags of `kubestage up`. */
  args: readonly string[]
  /** The machine's. */
  clock: Clock
}

/** Starts `kubestage up` in a session of its own; resolves when it is ready, and throws in its own words when it ends before. */
export async function startDetached({ stateDir, args, clock }: DetachOptions): Promise<RunningCluster> {
  const { logs } = stateDirectory(stateDir)
  mkdirSync(logs, { recursive: true, mode: 0o700 })
  const logFile = join(logs, 'up.log')
  const log = openSync(logFile, 'w', 0o600)
  const child = spawnDetached([join(packageRoot, 'bin', 'kubestage.mjs'), 'up', ...args], log)
  closeSync(log)
  const deadline = clock.monotonic() + patienceMs
  for (;;) {
    const { running } = findRunning(stateDir)
    if (running && running.pid === child.pid) return running
    if (child.hasEnded()) throw new ConfigError(lastWords(logFile))
    if (clock.monotonic() > deadline)
      throw new ConfigError(`not ready after ${patienceMs / 1000} s; ${logFile} tells why`)
    await clock.sleep(stepMs)
  }
}

function lastWords(logFile: string): string {
  const words = readFileSync(logFile, 'utf8').trim()
  return words.replace(/^kubestage: /, '') || `it ended at once; see ${logFile}`
}
