import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { packageRoot } from '../../cluster/package.ts'
import { stateDirectory, writingState } from '../../cluster/state-directory.ts'
import { spawnDetached } from '../../cluster/supervisor/detached.ts'
import { lastWords } from '../../cluster/supervisor/last-words.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { ConfigError } from '../../shared/config/option.ts'
import { makeFolder } from '../../shared/files/make-folder.ts'
import { checkLimits, lowLimits } from '../../shared/limits/low-limits.ts'

const patienceMs = 60_000

export interface DetachOptions {
  command: 'up' | 'join'
  stateDir: string
  /** Holds what stands after the command. */
  args: readonly string[]
  /** True if objects are in a file: a guardian starts the server again when it ends by itself. */
  isDurable: boolean
  /** Holds the machine's clock. */
  clock: Clock
  /** Ends the waiting, and what was started. */
  signal: AbortSignal
}

export interface DetachedCluster {
  url: string
  pid: number
}

/**
 * Starts the command in a session of its own; resolves when it is ready, and throws in its own words when it ends
 * before.
 */
export async function startDetached({
  command,
  stateDir,
  args,
  isDurable,
  clock,
  signal,
}: DetachOptions): Promise<DetachedCluster> {
  const { logs } = stateDirectory(stateDir)
  const logFile = join(logs, `${command}.log`)
  const log = await writingState(stateDir, () => {
    makeFolder(logs)
    return openSync(logFile, 'w', 0o600)
  })
  const self = [process.execPath, ...process.execArgv, join(packageRoot, 'bin', 'kubestage.mjs'), command, ...args]
  const child = spawnDetached((isDurable && (await guarded(self))) || self, log)
  closeSync(log)
  const late = Promise.withResolvers<never>()
  const timer = clock.setTimer(patienceMs, () =>
    late.reject(
      new ConfigError(`not ready after ${patienceMs / 1000} s${lastWords(logFile)}${lowLimits() || checkLimits}`),
    ),
  )
  signal.addEventListener('abort', () => late.reject(signal.reason))
  try {
    const words = await Promise.race([child.firstWords, late.promise])
    if (words?.state === 'ready') return { url: words.url, pid: child.pid }
    throw new ConfigError(
      words?.why ?? `kubestage ${command} ended at once (${await child.ended})${lastWords(logFile)}${lowLimits()}`,
    )
  } catch (error) {
    await child.end()
    throw error
  } finally {
    timer.cancel()
  }
}

/** The guardian's command line, as bin/guarded.mjs has it for a cluster in the foreground. */
async function guarded(command: readonly string[]): Promise<string[] | undefined> {
  const { guarded } = await import(pathToFileURL(join(packageRoot, 'bin', 'guarded.mjs')).href)
  return guarded(packageRoot, command)
}
