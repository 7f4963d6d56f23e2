import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { Database } from '../../../apiserver/storage/sqlite/database.ts'
import { openSqliteStorage } from '../../../apiserver/storage/sqlite/sqlite.ts'
import type { StorageEvent } from '../../../apiserver/storage/storage.ts'
import { scratchFolder } from '../../harness/scratch.ts'
import { skipOrFail } from '../../harness/skip.ts'
import { mountSmallDisk } from '../../harness/small-disk.ts'
import { storageSuite } from './suite.ts'

const folder = mkdtempSync(join(tmpdir(), 'kubestage-sqlite-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))
let files = 0
const newFile = (): string => join(folder, `${files++}.db`)

storageSuite('sqlite', () => openSqliteStorage({ file: newFile() }))

t.test('revisions, objects and their history go on after a restart', async (t) => {
  const file = newFile()
  const before = await openSqliteStorage({ file })
  await before.put({ key: '/a', value: '1', expect: 'absent' })
  await before.put({ key: '/b', value: '1', expect: 'absent' })
  await before.put({ key: '/a', value: '2', expect: 2 })
  await before.delete({ key: '/b', lastValue: 'last words' })
  await before.close()

  const storage = await openSqliteStorage({ file })
  t.teardown(() => storage.close())
  t.equal(storage.revision(), 5)
  t.equal(storage.oldestRevision(), 1)
  t.same((await storage.list({ prefix: '/' })).entries, [{ key: '/a', value: '2', revision: 4 }])
  t.equal((await storage.list({ prefix: '/', revision: 3 })).entries.length, 2)
  const events: StorageEvent[] = []
  storage.watch({ prefix: '/', afterRevision: 3, onEvents: (batch) => events.push(...batch) })
  t.match(events, [
    { type: 'put', key: '/a', revision: 4, value: '2', previous: { value: '1', revision: 2 } },
    { type: 'delete', key: '/b', revision: 5, previous: { revision: 3 }, lastValue: 'last words' },
  ])
  t.same(await storage.put({ key: '/b', value: 'again', expect: 'absent' }), { ok: true, revision: 6 })
})

t.test('the file forgets what was replaced, and nothing else', async (t) => {
  const file = newFile()
  const before = await openSqliteStorage({ file, history: { events: 10, bytes: 1e9 } })
  await before.put({ key: '/kept', value: 'kept', expect: 'absent' })
  await before.put({ key: '/gone', value: 'gone', expect: 'absent' })
  await before.delete({ key: '/gone' })
  for (let i = 0; i < 100; i++) {
    const writes = Array.from({ length: 50 }, async (_, j) => {
      const current = await before.get(`/${j}`)
      await before.put({ key: `/${j}`, value: 'x'.repeat(1000), expect: current?.revision ?? 'absent' })
    })
    await Promise.all(writes)
  }
  await before.close()
  t.ok(statSync(file).size < 3_500_000, `${statSync(file).size} bytes for 5,000 writes of 1,000`)

  const storage = await openSqliteStorage({ file })
  t.teardown(() => storage.close())
  t.equal(storage.revision(), 5004)
  t.ok(storage.oldestRevision() > 2000)
  t.equal((await storage.list({ prefix: '/' })).entries.length, 51)
  t.equal((await storage.get('/kept'))?.revision, 2)
  t.throws(() => storage.watch({ prefix: '/', afterRevision: 1000, onEvents: () => {} }), /compacted/)
})

t.test('what a killed process was told is written, is written', async (t) => {
  const file = newFile()
  const writer = spawn(process.execPath, [join(import.meta.dirname, 'writer-to-kill.ts'), file, '0', '10000'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const told: number[] = []
  for await (const line of createInterface({ input: writer.stdout })) {
    if (told.push(Number(line)) === 5000) writer.kill('SIGKILL')
  }
  t.ok(told.length >= 5000 && told.length < 10_000, `killed after ${told.length} of 10,000`)

  const storage = await openSqliteStorage({ file })
  t.teardown(() => storage.close())
  const { entries, revision } = await storage.list({ prefix: '/registry/' })
  const values = new Map(entries.map(({ key, value }) => [key, value]))
  t.same(
    told.filter((number) => values.get(`/registry/${number}`) !== `value ${number}`),
    [],
    'none is lost',
  )
  t.equal(revision, 1 + entries.length, 'each took one revision')
})

t.test('a file that cannot be used is one sentence', async (t) => {
  const opening = (file: string) => openSqliteStorage({ file })
  const used = newFile()
  const storage = await opening(used)
  await t.rejects(opening(used), {
    message: `storage file ${used} is in use by another process; stop that one, or name another with --storage`,
  })
  await storage.close()
  const idle = await opening(used)
  await t.rejects(opening(used), { message: /is in use by another process/ }, 'also by one that has written nothing')
  await idle.close()

  const garbage = newFile()
  writeFileSync(garbage, 'no database at all '.repeat(500))
  await t.rejects(opening(garbage), {
    message: `storage file ${garbage} is not a valid SQLite database; move it away to begin with an empty cluster, or name another with --storage`,
  })

  const foreign = newFile()
  const other = new DatabaseSync(foreign)
  other.exec('CREATE TABLE songs (title TEXT)')
  other.close()
  await t.rejects(opening(foreign), {
    message: `storage file ${foreign} is the database of another program; name another with --storage`,
  })

  const newer = newFile()
  await (await opening(newer)).close()
  const newerDatabase = new DatabaseSync(newer)
  newerDatabase.exec('PRAGMA user_version = 1000')
  newerDatabase.close()
  await t.rejects(opening(newer), {
    message: `storage file ${newer} was written by a newer Kubestage; name another with --storage`,
  })

  const damaged = newFile()
  const full = await opening(damaged)
  for (let i = 0; i < 500; i++) await full.put({ key: `/${i}`, value: 'x'.repeat(1000), expect: 'absent' })
  await full.close()
  const bytes = readFileSync(damaged)
  bytes.fill(0xff, 8 * 4096, 60 * 4096)
  writeFileSync(damaged, bytes)
  await t.rejects(opening(damaged), {
    message: `storage file ${damaged} is damaged; move it away to begin with an empty cluster, or name another with --storage`,
  })

  await t.rejects(opening(folder), { message: `storage file ${folder} is a folder; name another with --storage` })
  await t.rejects(opening(join(garbage, 'x.db')), /is a file; name another with --storage$/)
  await t.rejects(opening('/proc/none/x.db'), /no folder can be made there; name another with --storage$/)
  t.ok(statSync(used).mode & 0o600)
  t.equal(statSync(used).mode & 0o077, 0, 'nobody else reads it')
})

t.test('a file of more than the heap has room for is one sentence', async (t) => {
  const file = newFile()
  const storage = await openSqliteStorage({ file })
  const write = (i: number) => storage.put({ key: `/${i}`, value: `${i}`.padEnd(20_000, 'x'), expect: 'absent' })
  await Promise.all(Array.from({ length: 5_000 }, (_, i) => write(i)))
  await storage.close()
  const open = (megabytes: number): string => {
    const script = join(import.meta.dirname, 'read-file.ts')
    return spawnSync(process.execPath, [`--max-old-space-size=${megabytes}`, script, file], { encoding: 'utf8' }).stdout
  }
  t.equal(open(1_000), 'opened')
  t.equal(
    open(100),
    `storage file ${file} holds more objects than the heap has room for; start with NODE_OPTIONS=--max-old-space-size=200`,
  )
})

t.test('a sweep of the file that was interrupted brings nothing back', async (t) => {
  for (const how of ['compaction', 'full disk'] as const) {
    const file = newFile()
    const first = new Database(file)
    first.findRoom()
    first.write([{ revision: 2, key: '/a', value: 'first' }])
    first.write([{ revision: 3, previous: 2, key: '/a', value: 'second' }])
    first.write([{ revision: 4, key: '/b', value: 'kept' }])
    first.close()
    // The history is forgotten first, and what others replaced after that.
    const raw = new DatabaseSync(file)
    raw.exec('UPDATE history SET oldest = 4')
    raw.close()
    // Without its reserve it takes the disk for full.
    rmSync(`${file}-reserve`)
    const last = new Database(file)
    if (how === 'compaction') last.findRoom()
    last.write([{ revision: 5, previous: 3, key: '/a', freeing: true }])
    last.compact(5)
    last.close()
    const storage = await openSqliteStorage({ file })
    const { entries } = await storage.list({ prefix: '/' })
    await storage.close()
    t.same(
      entries.map(({ key, value }) => `${key} ${value}`),
      ['/b kept'],
      how,
    )
  }
})

t.test('a delete that finds the disk full is written; other writes are refused from then on', async (t) => {
  const room = join(scratchFolder(t, 'sqlite'), 'room')
  if (!mountSmallDisk(room, 'size=16m')) return skipOrFail(t, 'this machine lets us mount nothing')
  const storage = await openSqliteStorage({ file: join(room, 'state.db') })
  t.teardown(() => storage.close())
  for (const key of ['/a', '/b']) await storage.put({ key, value: 'x'.repeat(20_000), expect: 'absent' })
  spawnSync('sh', ['-c', 'cat /dev/zero > "$0"', join(room, 'filler')])
  t.match(await storage.delete({ key: '/a', lastValue: 'x'.repeat(20_000) }), { ok: true })
  await t.rejects(storage.put({ key: '/c', value: 'x', expect: 'absent' }), /the disk is full/)
  t.match(await storage.delete({ key: '/b' }), { ok: true })
  rmSync(join(room, 'filler'))
  t.match(await storage.put({ key: '/c', value: 'x', expect: 'absent' }), { ok: true })
})

t.test('a full disk refuses writes until there is room again', async (t) => {
  const mount = spawnSync('unshare', ['--mount', 'true'])
  if (mount.status !== 0) return skipOrFail(t, 'no file system of two megabytes can be made here')
  const room = mkdtempSync(join(folder, 'room-'))
  const script = join(import.meta.dirname, 'full-disk.ts')
  const inside = 'mount -t tmpfs -o size=2m room "$0" && exec "$@"'
  const run = spawnSync('unshare', ['--mount', 'sh', '-c', inside, room, process.execPath, script, room], {
    encoding: 'utf8',
  })
  t.same(JSON.parse(run.stdout), {
    refused: `storage file ${room}/state.db cannot be written: the disk is full; make room, or name another with --storage`,
    ahead: 'refused as well',
    afterwards: { ok: true },
    intact: true,
  })
})
