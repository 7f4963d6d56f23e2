import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type CopyOptions, copyStorage } from '../../../apiserver/storage/copy/copy.ts'
import { type CopyPlace, parsePlace, showPlace } from '../../../apiserver/storage/copy/places.ts'
import { openStorage } from '../../../apiserver/storage/open-storage.ts'
import type { Storage } from '../../../apiserver/storage/storage.ts'
import { realClock } from '../../../shared/clock/real-clock.ts'
import { etcdPrograms, missingEtcd, type RunningEtcd, startEtcd } from '../../harness/etcd.ts'
import { startTlsEtcd } from '../../harness/etcd-tls.ts'
import { scratchFolder } from '../../harness/scratch.ts'
import { skipOrFail } from '../../harness/skip.ts'
import { mountSmallDisk } from '../../harness/small-disk.ts'
import { startTcpProxy } from '../../harness/tcp-proxy.ts'
import { until } from '../../harness/until.ts'
import { newest } from '../../harness/versions.ts'

const everything = { prefix: '/registry/' }
const podKey = (name: string): string => `/registry/core/pods/default/${name}`
const expiring = [{ prefix: '/registry/core/events/', ttlMs: 3_600_000 }]

/** What a cluster may hold: built-in kinds, custom ones, those with a lease, and what machines say of themselves. */
const objects: Readonly<Record<string, string>> = {
  '/registry/core/namespaces/default': '{"metadata":{"name":"default"}}',
  [podKey('web')]: '{"metadata":{"name":"web","uid":"1"},"text":"ünï \\u0000 😀"}',
  '/registry/core/services/default/web': '{"metadata":{"name":"web"},"big":9007199254740993}',
  '/registry/core/nodes/node-1': '{"metadata":{"name":"node-1"}}',
  '/registry/core/events/default/started': '{"reason":"Started"}',
  '/registry/stable.example.com/crontabs/default/mine': '{"spec":{"unknown":1}}',
}

const copy = (from: string, to: string, more: Partial<CopyOptions> = {}) =>
  copyStorage({
    ...{ from: parsePlace(from), to: parsePlace(to), source: { clock: realClock }, target: { clock: realClock } },
    ...{ expiring, overwrite: false, ...more },
  })

async function opened<Result>(place: string, work: (storage: Storage) => Promise<Result>, options = {}) {
  const storage = await openStorage(parsePlace(place) as Exclude<CopyPlace, { engine: 'snapshot' }>, {
    clock: realClock,
    ...options,
  })
  try {
    return await work(storage)
  } finally {
    await storage.close()
  }
}

/** Its last revision. */
const fill = (place: string, values = objects): Promise<number> =>
  opened(place, async (storage) => {
    for (const key of Object.keys(values)) await storage.put({ key, value: '{"old":true}', expect: 'absent' })
    for (const [key, value] of Object.entries(values)) {
      const { revision = 0 } = (await storage.get(key)) ?? {}
      await storage.put({ key, value, expect: revision })
    }
    return storage.revision()
  })

const contentsOf = (place: string, options = {}): Promise<{ values: object; revisions: number[]; oldest: number }> =>
  opened(
    place,
    async (storage) => {
      const { entries } = await storage.list(everything)
      const values = Object.fromEntries(entries.map(({ key, value }) => [key, value]))
      return { values, revisions: entries.map(({ revision }) => revision), oldest: storage.oldestRevision() }
    },
    options,
  )

/** The copy has everything, and nothing of it can be taken for what was at the source's revisions. */
async function checkCopy(t: Test, place: string, expected: object, above: number): Promise<void> {
  const { values, revisions, oldest } = await contentsOf(place)
  t.same(values, expected, `all is in ${place}`)
  t.ok(
    revisions.every((revision) => revision > above),
    'revisions go on',
  )
  t.ok(oldest > above, 'what happened before is not told')
  await opened(place, async (storage) => {
    t.throws(() => storage.watch({ ...everything, afterRevision: above, onEvents: () => {} }), /compacted/)
    const { revision = 0 } = (await storage.get(podKey('web'))) ?? {}
    const value = JSON.stringify({ again: true })
    t.match(await storage.put({ key: podKey('web'), value, expect: above }), { ok: false })
    t.match(await storage.put({ key: podKey('web'), value, expect: revision }), { ok: true })
  })
}

const withoutMachines = Object.fromEntries(Object.entries(objects).filter(([key]) => !key.includes('/nodes/')))
const leaseOf = async ({ client }: RunningEtcd, key: string): Promise<string | undefined> =>
  (await client.call('range', { key }, { isRepeatable: true })).kvs[0]?.lease

const programs = etcdPrograms()
for (const reason of missingEtcd(programs)) skipOrFail(t, reason)

for (const program of newest(programs)) {
  t.test(`etcd ${program.version}`, async (t) => {
    const etcd = await startEtcd(t, program)
    const folder = scratchFolder(t, 'copy')
    const file = (name: string): string => `sqlite:${join(folder, name)}`
    const server = `etcd:${etcd.url}`

    await t.test('sqlite, etcd and snapshots are copied to one another, and revisions go on', async (t) => {
      const first = await fill(file('a.db'))
      const { toRevision } = await copy(file('a.db'), server)
      t.ok(toRevision > first)
      t.ok(Number(await leaseOf(etcd, '/registry/events/default/started')) !== 0, 'events end in time')
      t.equal(await leaseOf(etcd, '/registry/pods/default/web'), '0')
      await checkCopy(t, server, objects, first)
      const changed = { ...objects, [podKey('web')]: '{"again":true}' }

      const second = await copy(server, file('b.db'))
      t.match(second, { objects: 6 })
      await checkCopy(t, file('b.db'), changed, second.fromRevision)

      const snapshot = `snapshot:${join(folder, 'all.json')}`
      const third = await copy(file('b.db'), snapshot)
      t.match(third, { objects: 5 }, 'a snapshot has no nodes')
      const plain = { ...withoutMachines, [podKey('web')]: '{"again":true}' }
      await copy(snapshot, file('c.db'))
      await checkCopy(t, file('c.db'), plain, third.toRevision)
      const target = { clock: realClock, etcdPrefix: '/restored' }
      await copy(snapshot, server, { target })
      t.same((await contentsOf(server, { etcdPrefix: '/restored' })).values, plain)
      t.same((await contentsOf(server)).values, changed, 'another prefix is another cluster')
      const source = target
      await copy(server, `snapshot:${join(folder, 'again.json')}`, { source })
      t.same(
        JSON.parse(readFileSync(join(folder, 'again.json'), 'utf8')).entries.length,
        JSON.parse(readFileSync(join(folder, 'all.json'), 'utf8')).entries.length,
      )
    })

    await t.test('revisions exceed those of the source, however many they are', async (t) => {
      const snapshot = join(folder, 'late.json')
      writeFileSync(snapshot, JSON.stringify({ revision: 3_000, entries: [{ key: podKey('web'), value: '{}' }] }))
      const target = { clock: realClock, etcdPrefix: '/late' }
      t.ok((await copy(`snapshot:${snapshot}`, server, { target })).toRevision > 3_000)
      const { kvs } = await etcd.client.call('range', { key: '/late/pods/default/web' }, { isRepeatable: true })
      t.ok((kvs[0]?.mod_revision ?? 0) > 3_000)
      t.equal((await copy(`snapshot:${snapshot}`, file('late.db'))).toRevision, 3_002)
    })

    await t.test('objects are replaced only when asked to', async (t) => {
      await copy(file('a.db'), file('full.db'))
      for (const to of [server, file('full.db'), `snapshot:${join(folder, 'all.json')}`]) {
        await t.rejects(copy(file('a.db'), to), {
          name: 'ConfigError',
          message: `${to} holds objects already (${to.startsWith('snap') ? 5 : 6}): pass --overwrite to replace them, or name another place`,
        })
      }
      await fill(file('other.db'), { [podKey('other')]: '{}' })
      for (const to of [server, file('full.db')]) {
        const { revisions } = await contentsOf(to)
        const { toRevision } = await copy(file('other.db'), to, { overwrite: true })
        t.same((await contentsOf(to)).values, { [podKey('other')]: '{}' })
        t.ok(toRevision > Math.max(...revisions), 'they go on at the target as well')
      }
      t.same((await contentsOf(server, { etcdPrefix: '/restored' })).revisions.length, 5)
    })

    await t.test('a copy onto itself or a part of itself is refused', async (t) => {
      await t.rejects(copy(file('a.db'), `sqlite:${folder}/./a.db`), /are the same/)
      const refused: [object, object][] = [
        [{}, {}],
        [{}, { etcdPrefix: '/registry/part' }],
        [{ etcdPrefix: '/registry/part' }, {}],
      ]
      for (const [source, target] of refused) {
        const options = { source: { clock: realClock, ...source }, target: { clock: realClock, ...target } }
        await t.rejects(copy(server, server.replace('127.0.0.1', 'localhost'), options), {
          message: /^FROM and TO are in one etcd, below \S+ and \S+: name another prefix with --to-etcd-prefix$/,
        })
      }
    })

    await t.test('a file in use is refused, and an etcd in use is read at one moment', async (t) => {
      await opened(file('a.db'), async () => {
        const inUse = {
          message: /^storage file \S+ is in use by another process; stop that one, or name another place$/,
        }
        await t.rejects(copy(file('a.db'), file('new.db')), inUse)
        await t.rejects(copy(server, file('a.db'), { overwrite: true }), inUse)
        t.notOk(existsSync(join(folder, 'new.db')))
      })
      const stop = new AbortController()
      let last = 0
      await opened(server, async (storage) => {
        // Of two keys that are written in turns, no moment has the second without the first.
        const writing = (async () => {
          for (let n = 0; !stop.signal.aborted; n++) {
            for (const side of ['a', 'b'])
              await storage.put({ key: podKey(`${side}-${n}`), value: '{}', expect: 'absent' })
            last = n
          }
        })()
        await until(() => last > 5, { what: 'writes' })
        await copy(server, file('moment.db'))
        stop.abort()
        await writing
      })
      const names = Object.keys((await contentsOf(file('moment.db'))).values)
      const ofSide = (side: string): number => names.filter((name) => name.startsWith(podKey(`${side}-`))).length
      t.ok(ofSide('a') - ofSide('b') === 0 || ofSide('a') - ofSide('b') === 1, `${ofSide('a')} and ${ofSide('b')}`)
      t.ok(ofSide('a') > 5)
    })

    await t.test('a member that fails meanwhile is asked again', async (t) => {
      const proxy = await startTcpProxy(t, etcd.url)
      const many = Object.fromEntries(Array.from({ length: 300 }, (_, n) => [podKey(`p-${n}`), '{}']))
      await fill(file('many.db'), many)
      let cuts = 0
      const onWritten = (count: number): void => {
        if (count % 100 !== 50 || cuts > 2) return
        cuts++
        proxy.cut()
        realClock.setTimer(50, () => proxy.heal())
      }
      const target = { clock: realClock, etcdPrefix: '/cut' }
      await copy(file('many.db'), `etcd:http://127.0.0.1:${proxy.port}`, { target, onWritten })
      t.ok(cuts > 1)
      t.same((await contentsOf(server, { etcdPrefix: '/cut' })).values, many)
    })
  })

  t.test(`etcd ${program.version}: where a copy fails half-way no server starts, until it is run again`, async (t) => {
    const etcd = await startEtcd(t, program, {
      args: ['--quota-backend-bytes', '3000000', '--backend-batch-limit', '1'],
    })
    const folder = scratchFolder(t, 'copy')
    const [big, small] = [`sqlite:${join(folder, 'big.db')}`, `sqlite:${join(folder, 'small.db')}`]
    const values = Array.from({ length: 30 }, (_, n) => [podKey(`p-${n}`), `{"x":"${'x'.repeat(400_000)}"}`])
    await opened(big, async (storage) => {
      for (const [key = '', value = ''] of values) await storage.put({ key, value, expect: 'absent' })
    })
    await fill(small)
    const server = `etcd:${etcd.url}`
    await t.rejects(copy(big, server), {
      name: 'ConfigError',
      message:
        /^etcd at \S+ is full .*; \d+ of 30 objects are below \/registry\/, where no API server starts: run the copy again with --overwrite$/,
    })
    await t.rejects(contentsOf(server), {
      name: 'ConfigError',
      message:
        /^the objects below \/registry\/ in etcd are incomplete: kubestage storage copy is at work, or has failed; run it again/,
    })
    await t.rejects(copy(server, small, { overwrite: true }), /are incomplete/)
    t.same((await contentsOf(small)).values, objects, 'nor is a part copied on')
  })
}

t.test('on a full disk what was there stays', async (t) => {
  const folder = scratchFolder(t, 'copy')
  const room = join(folder, 'room')
  if (!mountSmallDisk(room, 'size=2m')) return skipOrFail(t, 'file systems cannot be mounted here')
  const from = `sqlite:${join(folder, 'big.db')}`
  await fill(from, { [podKey('big')]: `{"x":"${'x'.repeat(3_000_000)}"}`, [podKey('small')]: '{}' })
  await fill(`sqlite:${join(folder, 'small.db')}`)
  for (const to of [`sqlite:${join(room, 'state.db')}`, `snapshot:${join(room, 'all.json')}`]) {
    await t.rejects(
      copy(from, to),
      { name: 'ConfigError', message: /the disk is full.*(nothing was|as they were)/ },
      to,
    )
    t.same(
      readdirSync(room).filter((name) => !name.endsWith('-reserve')),
      [],
      'nothing is left',
    )
  }
  const to = `sqlite:${join(room, 'state.db')}`
  await copy(`sqlite:${join(folder, 'small.db')}`, to)
  await t.rejects(copy(from, to, { overwrite: true }), /the disk is full.*; its 6 objects are as they were$/)
  t.same((await contentsOf(to)).values, objects)
})

t.test('what cannot be read or written is named in one sentence', async (t) => {
  const folder = scratchFolder(t, 'copy')
  const path = (name: string): string => join(folder, name)
  writeFileSync(path('text'), 'hello')
  writeFileSync(path('empty.json'), '{"revision":3,"entries":[]}')
  mkdirSync(path('folder'))
  const refused: [from: string, to: string, message: RegExp][] = [
    [`sqlite:${path('none.db')}`, `snapshot:${path('x')}`, /none\.db: no such file$/],
    [`snapshot:${path('none')}`, `snapshot:${path('x')}`, /none: no such file$/],
    [`snapshot:${path('folder')}`, `snapshot:${path('x')}`, /folder: cannot be read: it is a folder$/],
    [`snapshot:${path('text')}`, `snapshot:${path('x')}`, /text is not a valid snapshot; kubestage snapshot FILE/],
    [`sqlite:${path('text')}`, `snapshot:${path('x')}`, /is not a valid SQLite database; .* name another place$/],
    [`snapshot:${path('empty.json')}`, `snapshot:${path('text')}`, /text is not a valid snapshot/],
    [`snapshot:${path('empty.json')}`, `sqlite:${path('text')}`, /is not a valid SQLite database/],
    [`snapshot:${path('empty.json')}`, `sqlite:${path('text/x.db')}`, /a part of its path is a file/],
    [
      `snapshot:${path('empty.json')}`,
      'etcd:http://127.0.0.1:1',
      /cannot be reached: .*; start it, or name another place/,
    ],
  ]
  for (const [from, to, message] of refused)
    await t.rejects(copy(from, to), { name: /ConfigError|UsageError/, message }, `${from} ${to}`)
  t.equal(readFileSync(path('text'), 'utf8'), 'hello')
  const empty = `sqlite:${path('empty.db')}`
  t.match(await copy(`snapshot:${path('empty.json')}`, empty), { objects: 0, toRevision: 4 })
  t.equal(await opened(empty, async (storage) => storage.revision()), 4, 'also where nothing is copied')
  for (const text of ['memory', 'sqlite:', 'etcd:ftp://x', 'state.db', 'snapshot:'])
    t.throws(
      () => parsePlace(text),
      { name: 'UsageError', message: /must be snapshot:FILE, sqlite:PATH or etcd:/ },
      text,
    )
  for (const text of ['snapshot:a', 'sqlite:b', 'etcd:http://h:1,https://h:2'])
    t.equal(showPlace(parsePlace(text)), text)
})

const tlsProgram = programs[0]
if (tlsProgram) {
  t.test('source and target may need different certificates and prefixes', async (t) => {
    const { etcd, mine } = await startTlsEtcd(t, tlsProgram)
    const plain = await startEtcd(t, tlsProgram)
    const folder = scratchFolder(t, 'copy')
    const file = `sqlite:${join(folder, 'a.db')}`
    await fill(file)
    await t.rejects(copy(file, `etcd:${etcd.url}`), /certificate/)
    const target = { clock: realClock, ...mine }
    await copy(file, `etcd:${etcd.url}`, { target })
    await copy(`etcd:${etcd.url}`, `etcd:${plain.url}`, { source: target })
    t.same((await contentsOf(`etcd:${plain.url}`)).values, objects)
    await plain.client.call(
      'txn',
      { success: [{ request_put: { key: '/real/pods/default/x', value: 'k8s\0' } }] },
      { isRepeatable: false },
    )
    const real = { clock: realClock, etcdPrefix: '/real' }
    await t.rejects(
      copy(file, `etcd:${plain.url}`, { target: real, overwrite: true }),
      /those of a real kube-apiserver/,
    )
  })
}
