import { existsSync, lstatSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { makeFolder } from '../files/make-folder.ts'
import { notAFile, readRegularFile } from '../files/regular-file.ts'

export function readIfExists(file: string): string | undefined {
  try {
    return readRegularFile(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/**
 * Readable by the owner only, and atomic: the file appears complete, or nothing is left of it. A link of this user, or
 * of root, is followed. Throws EFTYPE or EISDIR where there is something else than a file.
 */
export function writePrivately(named: string, text: string): void {
  const file = target(named)
  makeFolder(dirname(file))
  const draft = `${file}.${process.pid}`
  try {
    writeFileSync(draft, text, { mode: 0o600 })
    renameSync(draft, file)
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
}

/** A draft takes the place of a file, never of a link to it, or of a device. */
function target(named: string): string {
  const found = lstatSync(named, { throwIfNoEntry: false })
  if (!found || found.isFile()) return named
  const isTrusted = [0, process.getuid?.()].includes(found.uid)
  const kind = statSync(named, { throwIfNoEntry: false })
  if (kind && !kind.isFile() && !kind.isDirectory()) throw notAFile(named)
  return kind?.isFile() && isTrusted ? realpathSync(named) : named
}

/** Gives a file another name, under which it stays, and returns that. */
export function setAside(file: string): string {
  for (let number = 1; ; number++) {
    const kept = `${file}.damaged${number === 1 ? '' : `-${number}`}`
    if (existsSync(kept)) continue
    renameSync(file, kept)
    return kept
  }
}
