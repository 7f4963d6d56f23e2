import { randomUUID } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'

/**
 * Writes pods into the file of a server that has ended, as if they had been created long ago: copies of the pod
 * `stored-0`, with the numbers between `from` and `to`.
 */
export function fill(file: string, from: number, to: number): void {
  const database = new DatabaseSync(file)
  const row = (query: string) => database.prepare(query).get() as Record<'key' | 'value' | 'last', string>
  const last = Number(row('SELECT max(revision) AS last FROM changes').last)
  const { key, value } = row("SELECT key, value FROM changes WHERE value IS NOT NULL AND key LIKE '%/stored-0'")
  const [uid = ''] = /"uid":"[^"]*"/.exec(value) ?? []
  database.exec('BEGIN')
  const insert = database.prepare('INSERT INTO changes (revision, key, value) VALUES (?, ?, ?)')
  for (let i = from; i < to; i++) {
    const own = value.replace('"name":"stored-0"', `"name":"stored-${i}"`).replace(uid, `"uid":"${randomUUID()}"`)
    insert.run(last + 1 + i - from, key.replace(/0$/, String(i)), own)
  }
  database.prepare('UPDATE history SET oldest = ?').run(last + to - from)
  database.exec('COMMIT')
  database.close()
}
