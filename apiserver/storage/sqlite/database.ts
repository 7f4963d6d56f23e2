import { closeSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { makeFolder } from '../../../shared/files/make-folder.ts'
import type { Entry } from '../storage.ts'
import type { Change } from '../store-state.ts'
import type { Row } from './messages.ts'
import { UnusableFile } from './reasons.ts'

/** "Kube": how our files are told from other programs'. */
const applicationId = 0x4b_75_62_65
const formatVersion = 1

/**
 * Each write is a row, by its revision; a delete is a row without a value. So the file is the history, and what is true now is
 * the last row of each key. Compaction removes the rows that others replaced.
 */
const schema = `
  CREATE TABLE changes (revision INTEGER PRIMARY KEY, previous INTEGER, key TEXT NOT NULL, value TEXT, last TEXT) STRICT;
  CREATE TABLE history (oldest INTEGER NOT NULL) STRICT;
  INSERT INTO history VALUES (1);
  PRAGMA application_id = ${applicationId};
  PRAGMA user_version = ${formatVersion};
`

/** The file of a durable store. Everything blocks, so it lives in a thread of its own. */
export class Database {
  readonly #db: DatabaseSync
  readonly #insert: StatementSync

  /** Makes the file if there is none. Throws what SQLite throws, and {@link UnusableFile}. */
  constructor(file: string) {
    makeFolder(dirname(file))
    closeSync(openSync(file, 'a', 0o600)) // it holds secrets
    this.#db = new DatabaseSync(file)
    try {
      // One process at a time; its death frees the file.
      this.#db.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
      this.#prepare()
      this.#insert = this.#db.prepare('INSERT INTO changes VALUES (?, ?, ?, ?, ?)')
    } catch (error) {
      this.#db.close()
      throw error
    }
  }

  /** The revision from which on the file knows everything. */
  oldest(): number {
    return this.#number('SELECT oldest FROM history')
  }

  /** What was true at the oldest revision. */
  *entries(): Generator<Entry> {
    const rows = this.#db.prepare('SELECT key, value, revision FROM changes WHERE revision <= ? ORDER BY revision')
    for (const row of rows.iterate(this.oldest())) yield row as unknown as Entry
  }

  /** What has happened since, oldest first. */
  *changes(): Generator<Change> {
    const rows = this.#db.prepare(
      'SELECT key, revision, value, last AS lastValue FROM changes WHERE revision > ? ORDER BY revision',
    )
    for (const { key, revision, value, lastValue } of rows.iterate(this.oldest()) as Iterable<
      Record<string, string | number | null>
    >) {
      yield {
        key: key as string,
        revision: revision as number,
        ...(value !== null && { value: value as string }),
        ...(lastValue !== null && { lastValue: lastValue as string }),
      }
    }
  }

  /** All of them or none; on the disk when it returns. */
  write(rows: readonly Row[]): void {
    this.#transaction(() => {
      for (const { revision, previous, key, value, lastValue } of rows) {
        this.#insert.run(revision, previous ?? null, key, value ?? null, lastValue ?? null)
      }
    })
  }

  compact(revision: number): void {
    const range = [this.oldest(), revision] as const
    this.#transaction(() => {
      this.#db
        .prepare(
          'DELETE FROM changes WHERE revision IN (SELECT previous FROM changes WHERE revision > ? AND revision <= ?)',
        )
        .run(...range)
      this.#db.prepare('DELETE FROM changes WHERE value IS NULL AND revision > ? AND revision <= ?').run(...range)
      this.#db.prepare('UPDATE history SET oldest = ?').run(revision)
    })
  }

  close(): void {
    this.#db.close()
  }

  #prepare(): void {
    if (this.#number('PRAGMA application_id') === applicationId) {
      const version = this.#number('PRAGMA user_version')
      if (version > formatVersion) throw new UnusableFile('was written by a newer Kubestage')
    } else if (this.#number('SELECT count(*) FROM sqlite_schema') > 0) {
      throw new UnusableFile('is the database of another program')
    } else {
      this.#transaction(() => this.#db.exec(schema))
    }
  }

  #transaction(body: () => void): void {
    this.#db.exec('BEGIN IMMEDIATE')
    try {
      body()
      this.#db.exec('COMMIT')
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK')
      throw error
    }
  }

  #number(query: string): number {
    return Object.values(this.#db.prepare(query).get() as Record<string, number>)[0] ?? 0
  }
}
