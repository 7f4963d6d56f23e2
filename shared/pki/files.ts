import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { makeFolder } from '../files/make-folder.ts'

export function readIfExists(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Readable by the owner only, and atomic: the file appears complete, or nothing is left of it. */
export function writePrivately(file: string, text: string): void {
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
