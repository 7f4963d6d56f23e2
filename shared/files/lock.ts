import { linkSync, rmSync, unlinkSync, writeFileSync } from 'node:fs'
import { pauseThread } from '../clock/pause.ts'
import { processFields } from './readable.ts'
import { readRegularFile } from './regular-file.ts'

/** A process: the start time tells it from a later one with the same number. */
export interface Holder {
  pid: number
  startTime?: string
}

/**
 * A lock file that outlives no process: it is taken over when its process has gone. The end of a killed process is
 * waited for.
 */
export function takeLock(file: string): { taken: true; release(): void } | { taken: false; pid: number } {
  const draft = `${file}.${process.pid}`
  writeFileSync(draft, JSON.stringify(holderFor(process.pid)), { mode: 0o600 })
  try {
    for (let waitedMs = 0; ; ) {
      if (linked(draft, file)) return { taken: true, release: () => rmSync(file, { force: true }) }
      const holder = readHolder(file)
      if (!holder || !isAlive(holder)) rmSync(file, { force: true })
      else if (isEnding(holder) && waitedMs < longestEndMs) {
        pauseThread(pauseMs)
        waitedMs += pauseMs
      } else return { taken: false, pid: holder.pid }
    }
  } finally {
    unlinkSync(draft)
  }
}

export interface LockHolder {
  pid: number
  /** Returns true as long as the process lives, also after it has given the lock back. */
  isAlive(): boolean
}

/** The process that holds the lock; undefined if none that is alive does. Throws EACCES for another user's lock. */
export function lockHolder(file: string): LockHolder | undefined {
  const holder = readHolder(file)
  return holder && living(holder)
}

/** Returns the holder; undefined if its process has ended. */
export const living = (holder: Holder): LockHolder | undefined =>
  isAlive(holder) ? { pid: holder.pid, isAlive: () => isAlive(holder) } : undefined

/** Linking, unlike writing, never shows half a file to another process. */
function linked(draft: string, file: string): boolean {
  try {
    linkSync(draft, file)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

function readHolder(file: string): Holder | undefined {
  try {
    return JSON.parse(readRegularFile(file)) as Holder
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EACCES') throw error
    return undefined // gone meanwhile, or another process's: the lock is free
  }
}

/** A process that was killed gives its memory back before it is gone, which takes a second on a busy machine. */
const longestEndMs = 10_000
const pauseMs = 10

/** Upstream: Linux' PF_EXITING among the flags, and SIGKILL among the pending signals (proc_pid_stat(5)). */
function isEnding({ pid }: Holder): boolean {
  const fields = processFields(pid)
  return (Number(fields[6]) & 4) !== 0 || (Number(fields[28]) & 256) !== 0
}

function isAlive(holder: Holder): boolean {
  try {
    process.kill(holder.pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
  }
  return holderFor(holder.pid).startTime === holder.startTime
}

export function holderFor(pid: number): Holder {
  return { pid, startTime: startTimeOf(pid) }
}

/** Returns undefined for a zombie, and where there is no /proc. */
function startTimeOf(pid: number): string | undefined {
  const fields = processFields(pid)
  return fields[0] === 'Z' ? undefined : fields[19]
}
