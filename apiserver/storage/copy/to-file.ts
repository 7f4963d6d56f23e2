import { existsSync, renameSync, rmSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { ConfigError } from '../../../shared/config/option.ts'
import { inOneSentence } from '../../../shared/config/system-errors.ts'
import { writePrivately } from '../../../shared/pki/files.ts'
import type { Snapshot } from '../snapshot.ts'
import type { Entry } from '../storage.ts'
import { readSnapshot, readSqlite } from './source.ts'
import type { Target } from './target.ts'

/** Rows in one transaction. */
const batchSize = 500
/** The suffixes of the files that SQLite and the engine keep beside a database. */
const besides = ['', '-wal', '-shm', '-reserve']

/**
 * Returns a target for an SQLite file. A copy writes a new file, which replaces the old one once it is complete; a copy
 * that fails leaves the old file unchanged. Rejects with a ConfigError if another process uses the file.
 */
export async function sqliteTarget(file: string): Promise<Target> {
  const [{ Database }, { reasonOf }] = await Promise.all([
    import('../sqlite/database.ts'),
    import('../sqlite/reasons.ts'),
  ])
  const before = existsSync(file) ? await readSqlite(file) : { entries: [], revision: 1 }
  const draft = `${file}.${process.pid}`
  const discard = (): void => {
    for (const end of besides) if (existsSync(draft + end)) rmSync(draft + end)
  }
  return {
    objects: before.entries.length,
    revision: before.revision,
    async write(entries, { after, onWritten }) {
      let revision = after + 1
      try {
        const database = new Database(draft)
        try {
          for (let first = 0; first < entries.length; first += batchSize) {
            const batch = entries.slice(first, first + batchSize)
            database.write(batch.map(({ key, value }) => ({ key, value, revision: ++revision })))
            onWritten(first + batch.length)
            await setImmediate() // the progress is shown
          }
          database.compact(revision)
        } finally {
          database.close()
        }
        if (existsSync(`${draft}-reserve`)) renameSync(`${draft}-reserve`, `${file}-reserve`)
        renameSync(draft, file)
      } catch (error) {
        throw new ConfigError(`storage file ${file} ${reasonOf(error)}; ${asItWas(before.entries.length)}`)
      } finally {
        discard()
      }
      return revision
    },
    close: async () => {},
  }
}

/**
 * Returns a target for a file of `kubestage snapshot`. Throws a ConfigError if the file exists but is not a snapshot.
 */
export function snapshotTarget(file: string): Target {
  const { entries, revision } = existsSync(file) ? readSnapshot(file) : { entries: [], revision: 1 }
  return {
    objects: entries.length,
    revision,
    async write(entries: readonly Entry[], { after, onWritten }) {
      const snapshot: Snapshot = { revision: after, entries: entries.map(({ key, value }) => ({ key, value })) }
      try {
        writePrivately(file, `${JSON.stringify(snapshot)}\n`)
      } catch (error) {
        const known = inOneSentence(error as Error, { place: `cannot write ${file}`, remedy: 'name another file' })
        if (known) throw new ConfigError(`${known.message}; nothing was changed`)
        throw error
      }
      onWritten(entries.length)
      return after
    },
    close: async () => {},
  }
}

const asItWas = (objects: number): string =>
  objects > 0 ? `its ${objects} objects are as they were` : 'nothing was copied'
