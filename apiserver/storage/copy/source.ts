import { existsSync } from 'node:fs'
import { parsedJson } from '../../../shared/api/json/json-map.ts'
import { readInputText } from '../../../shared/config/input.ts'
import { ConfigError, UsageError } from '../../../shared/config/option.ts'
import { whyRefused } from '../../../shared/config/system-errors.ts'
import type { OpenOptions } from '../open-options.ts'
import { makeRoom } from '../open-storage.ts'
import { isSnapshot } from '../snapshot.ts'
import type { Entry } from '../storage.ts'
import type { CopyPlace } from './places.ts'

/** All objects as they were at `revision`. */
export interface Contents {
  entries: Entry[]
  revision: number
}

/** Rejects with a ConfigError where nothing can be read, as a file in use. Of an etcd in use it is one moment. */
export async function readContents(place: CopyPlace, options: OpenOptions): Promise<Contents> {
  if (place.engine === 'snapshot') return readSnapshot(place.file)
  if (place.engine === 'sqlite') return await readSqlite(place.file)
  const [{ openEtcdPlace, readAll }, { checkComplete }] = await Promise.all([
    import('./etcd-place.ts'),
    import('../etcd/incomplete.ts'),
  ])
  const etcd = await openEtcdPlace(place.endpoints, options)
  try {
    await checkComplete(etcd.client, etcd.prefix)
    return await readAll(etcd)
  } finally {
    etcd.client.close()
  }
}

export async function readSqlite(file: string): Promise<Contents> {
  if (!existsSync(file)) throw new UsageError(`${file}: no such file`)
  await makeRoom({ engine: 'sqlite', file })
  const { openSqliteStorage } = await import('../sqlite/sqlite.ts')
  const storage = await openSqliteStorage({ file })
  try {
    const { entries, revision } = await storage.list({ prefix: '/registry/' })
    return { entries, revision }
  } finally {
    await storage.close()
  }
}

/** Throws a ConfigError for what is no snapshot. */
export function readSnapshot(file: string): Contents {
  const value = parsedJson(textOf(file))
  if (!isSnapshot(value)) throw new ConfigError(`${file} is not a valid snapshot; kubestage snapshot FILE makes one`)
  const { revision = 1, entries } = value
  return { revision, entries: entries.map(({ key, value }) => ({ key, value, revision })) }
}

function textOf(file: string): string {
  try {
    return readInputText(file)
  } catch (error) {
    if (error instanceof ConfigError) throw error
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    const reason = isMissing ? 'no such file' : `cannot be read: ${whyRefused(error as Error)}`
    throw new UsageError(`${file}: ${reason}`)
  }
}
