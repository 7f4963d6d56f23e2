import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { packageRoot } from '../../cluster/package.ts'
import { stateDirectory, writingState } from '../../cluster/state-directory.ts'
import { spawnDetached } from '../../cluster/supervisor/detached.ts'
import { lastWords } from '../../cluster/supervisor/last-words.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { ConfigError } from '../../shared/config/option.ts'
import { makeFolder } from '../../shared/files/make-folder.ts'
import { checkLimits, lowLimits } from '../../shared/limits/low-limits.ts'
import { withProgress } from '../terminal/progress.ts'
import { untilStopped } from './signals.ts'

const patienceMs = 60_000

export interface DetachOptions {
  command: 'up' | 'join'
  stateDir: string
  /** Follow the flags of this command, and replace some of them. */
  flags: readonly string[]
  /** True if objects are in a file: a guardian starts the server again when it ends by itself. */
  isDurable: boolean
}

export interface DetachedCluster {
  url: string
  pid: number
}

/**
 * Starts this command again, in a session of its own. Resolves when it is ready, or to undefined if the user stops it
 * before; throws in its own words when it ends before.
 */
export async function detached(doing: string, options: DetachOptions): Promise<DetachedCluster | undefined> {
  const giveUp = new AbortController()
  const starting = start(options, giveUp.signal)
  const started = await Promise.race([withProgress(doing, starting), untilStopped()])
  if (!('again' in started)) return started
  giveUp.abort()
  await starting.catch(() => {})
  return undefined
}

/** The signal ends the waiting, and what was started. */
async function start(
  { command, stateDir, flags, isDurable }: DetachOptions,
  signal: AbortSignal,
): Promise<DetachedCluster> {
  const { logs } = stateDirectory(stateDir)
  const logFile = join(logs, `${command}.log`)
  const log = await writingState(stateDir, () => {
    makeFolder(logs)
    return openSync(logFile, 'w', 0o600)
  })
  const given = process.argv.slice(3).filter((arg) => arg !== '-d')
  const args = [join(packageRoot, 'bin', 'kubestage.mjs'), command, ...given, '--detach=false', ...flags]
  const self = [process.execPath, ...process.execArgv, ...args]
  const child = spawnDetached((isDurable && (await guarded(self))) || self, log)
  closeSync(log)
  const late = Promise.withResolvers<never>()
  const timer = realClock.setTimer(patienceMs, () =>
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
