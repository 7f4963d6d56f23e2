import { closeSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { makeFolder } from '../../../shared/files/make-folder.ts'
import type { Change } from '../store-state.ts'
import type { Row } from './messages.ts'
import { FullDisk, isFull, UnusableFile } from './reasons.ts'
import { Reserve } from './reserve.ts'

/** "Kube": how our files are told from other programs'. */
const applicationId = 0x4b_75_62_65
const formatVersion = 1

/**
 * Each write is a row, by its revision; a delete is a row without a value. So the file is the history, and what is true
 * now is the last row of each key. Compaction removes the rows that others replaced.
 */
const schema = `
  CREATE TABLE changes (revision INTEGER PRIMARY KEY, previous INTEGER, key TEXT NOT NULL, value TEXT, last TEXT) STRICT;
  CREATE TABLE history (oldest INTEGER NOT NULL) STRICT;
  INSERT INTO history VALUES (1);
  PRAGMA application_id = ${applicationId};
  PRAGMA user_version = ${formatVersion};
`

/**
 * Removes what was replaced by changes of these revisions, oldest first: of what is left, the newest is still the last
 * one.
 */
const replaced = (limit: '' | 'LIMIT 200'): string => `
  DELETE FROM changes WHERE revision IN (
    SELECT c.revision FROM changes n JOIN changes c ON c.revision = n.previous
    WHERE n.revision > ? AND n.revision <= ? ORDER BY n.revision ${limit})`

/** Removes deletes. Only when all that they and others replaced is gone: else that would be true again. */
const deleted = (limit: '' | 'LIMIT 200'): string => `
  DELETE FROM changes WHERE revision IN (SELECT revision FROM changes WHERE value IS NULL AND revision <= ? ${limit})`

/** Reads and writes the file of a durable store. All methods block, so a thread of its own runs them. */
export class Database {
  readonly #db: DatabaseSync
  readonly #insert: StatementSync
  readonly #reserve: Reserve
  /**
   * Nothing is left that a change up to this revision replaced. An earlier process may have been interrupted: so the
   * first sweep sees all.
   */
  #swept = 0

  /** Creates the file if it does not exist. Throws SQLite's errors, and {@link UnusableFile}. */
  constructor(file: string) {
    makeFolder(dirname(file))
    closeSync(openSync(file, 'a', 0o600)) // it holds secrets
    this.#db = new DatabaseSync(file)
    this.#reserve = new Reserve(file)
    try {
      // One process at a time; its death frees the file. Pages of a new file that nothing uses can be given back to the
      // disk.
      this.#db.exec('PRAGMA auto_vacuum = INCREMENTAL')
      this.#db.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
      // A file that was there is only locked by the first write.
      this.#db.exec('BEGIN IMMEDIATE; COMMIT')
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

  /** Yields the state at the oldest revision. It may include values that later changes replaced. */
  entries(): Generator<Change> {
    return this.#rows('<=')
  }

  /** Yields the changes since then, oldest first. */
  changes(): Generator<Change> {
    return this.#rows('>')
  }

  *#rows(side: '<=' | '>'): Generator<Change> {
    const rows = this.#db.prepare(
      `SELECT key, revision, value, last AS lastValue FROM changes WHERE revision ${side} ? ORDER BY revision`,
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

  /** True if only deletes are written now. */
  get isFull(): boolean {
    return !this.#reserve.isHeld
  }

  /** Looks for room, for the reserve and so for writes; whether there is any. */
  findRoom(): boolean {
    const isThere = this.#reserve.take()
    if (!isThere) this.#checkpoint()
    return isThere
  }

  /** All of them or none; on the disk when it returns. On a full disk deletes use the reserve. */
  write(rows: readonly Row[]): void {
    const isFreeing = rows.every(({ freeing }) => freeing)
    if (this.isFull && !isFreeing && !this.findRoom()) throw new FullDisk()
    try {
      this.#add(rows)
    } catch (error) {
      if (!isFull(error)) throw error
      this.#reserve.release()
      this.#checkpoint()
      if (!isFreeing) throw error
      this.#add(rows)
    }
    if (this.isFull) this.#giveBack()
  }

  #add(rows: readonly Row[]): void {
    this.#transaction(() => {
      for (const { revision, previous, key, value, lastValue } of rows) {
        this.#insert.run(revision, previous ?? null, key, value ?? null, lastValue ?? null)
      }
    })
  }

  compact(revision: number): void {
    this.#transaction(() => {
      this.#forget(revision)
      this.#db.prepare(replaced('')).run(this.#swept, revision)
      this.#db.prepare(deleted('')).run(revision)
    })
    this.#swept = revision
  }

  #forget(revision: number): void {
    this.#db.prepare('UPDATE history SET oldest = ?').run(revision)
  }

  /** Frees the history's room on a full disk, in steps that need little room themselves. */
  #giveBack(): void {
    try {
      const to = this.#number('SELECT max(revision) FROM changes')
      this.#transaction(() => this.#forget(to))
      while (Number(this.#db.prepare(replaced('LIMIT 200')).run(this.#swept, to).changes) > 0) this.#checkpoint()
      this.#swept = to
      while (Number(this.#db.prepare(deleted('LIMIT 200')).run(to).changes) > 0) this.#checkpoint()
      for (let before = -1; before !== this.#number('PRAGMA freelist_count'); this.#checkpoint()) {
        before = this.#number('PRAGMA freelist_count')
        this.#db.prepare('PRAGMA incremental_vacuum(200)').all()
      }
    } catch {
      // What there was no room for is tried again with the next delete.
    }
  }

  /**
   * Gives back the room of the log of writes, which may be as large as the reserve, for as much of it as the file
   * grows.
   */
  #checkpoint(): void {
    try {
      this.#db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').all()
    } catch {
      // There is not even room for that.
    }
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
