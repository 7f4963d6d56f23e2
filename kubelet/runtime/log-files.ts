import { existsSync, readdirSync, renameSync, rmSync, unlinkSync } from 'node:fs'
import path from 'node:path'

/** Holds the kubelet's containerLogMaxSize, in bytes, and containerLogMaxFiles. */
export interface LogLimits {
  fileBytes: number
  files: number
}

/** Moves a log aside, so that its writer begins another. Returns true if the oldest one had to go. */
export function rotateLog(file: string, files: number): boolean {
  const older = (n: number) => `${file}.${n}`
  const isFull = existsSync(older(files - 1))
  rmSync(older(files - 1), { force: true })
  for (let n = files - 2; n > 0; n--) if (existsSync(older(n))) renameSync(older(n), older(n + 1))
  renameSync(file, older(1))
  return isFull
}

/** Deletes a log and its rotated predecessors, and their folder if it is empty then. */
export function removeLog(file: string): void {
  const directory = path.dirname(file)
  if (!existsSync(directory)) return
  const name = path.basename(file)
  for (const entry of readdirSync(directory))
    if (entry === name || entry.startsWith(`${name}.`)) unlinkSync(path.join(directory, entry))
  if (readdirSync(directory).length === 0) rmSync(directory, { recursive: true, force: true })
}
