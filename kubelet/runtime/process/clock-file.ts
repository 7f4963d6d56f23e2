import { rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { makeFolder } from '../../../shared/files/make-folder.ts'
import { textOf } from '../../../shared/files/readable.ts'
import { receptionOf } from '../proc-files.ts'
import { sendSignal, signalNumber } from '../signals.ts'

/**
 * Says in one line by how many seconds the cluster's time has been moved, `+600`; the form that libfaketime reads, too.
 */
export const clockFile = (rootDir: string): string => path.join(rootDir, 'moved-clock')

/** A container with its own view of the files sees the clock file at this path. */
export const ownClockFile = '/dev/kubestage-clock'
/** Names the file, in every container's environment. */
export const clockFileVariable = 'KUBESTAGE_CLOCK_FILE'

/** Milliseconds; 0 if the file was not written. */
export function readMovedClock(rootDir: string): number {
  const seconds = Number(textOf(clockFile(rootDir)))
  return Number.isFinite(seconds) ? Math.round(seconds * 1000) : 0
}

/** Writes the file in place, so that containers that have it mounted see the same file. */
export function writeMovedClock(rootDir: string, movedMs: number): void {
  makeFolder(rootDir)
  writeFileSync(clockFile(rootDir), `+${movedMs / 1000}\n`, { mode: 0o644 })
}

/** A cluster starts with a time that was not moved. */
export const forgetMovedClock = (rootDir: string): void => rmSync(clockFile(rootDir), { force: true })

/**
 * To a process that has a handler for it, and so wants to hear of it; it changes nothing for others, stopped ones among
 * them.
 */
export function tellOfMovedClock(pid: number): void {
  const reception = receptionOf(pid, signalNumber('SIGCONT'))
  if (reception?.disposition === 'caught' && !reception.isStopped) sendSignal(pid, 'SIGCONT')
}
