import { linkSync, rmSync, unlinkSync, writeFileSync } from 'node:fs'
import { pauseThread } from '../clock/pause.ts'
import { processFields } from './readable.ts'
import { readRegularFile } from './regular-file.ts'

/** A process: the start time tells it from a later one with the same number. */
export interface Holder {
  pid: number
  startTime?: string
}

/** A lock file that outlives no process: one left by a process that is gone is taken over. */
export function takeLock(file: string): { taken: true; release(): void } | { taken: false; pid: number } {
  const draft = `${file}.${process.pid}`
  writeFileSync(draft, JSON.stringify(holderFor(process.pid)), { mode: 0o600 })
  try {
    for (;;) {
      if (linked(draft, file)) return { taken: true, release: () => rmSync(file, { force: true }) }
      const holder = readHolder(file)
      if (holder && !isGone(holder)) return { taken: false, pid: holder.pid }
      rmSync(file, { force: true })
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

/** Waits for a holder that was killed: it gives its memory back first, which takes a second on a busy machine. */
function isGone(holder: Holder): boolean {
  for (let waitedMs = 0; isAlive(holder); waitedMs += pauseMs) {
    if (!isEnding(holder.pid) || waitedMs >= longestEndMs) return false
    pauseThread(pauseMs)
  }
  return true
}
const pauseMs = 10
const longestEndMs = 10_000

/** Upstream: Linux' PF_EXITING among the flags, and SIGKILL among the pending signals (proc_pid_stat(5)). */
function isEnding(pid: number): boolean {
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
