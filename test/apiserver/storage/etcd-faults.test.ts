import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { type EtcdStorageOptions, openEtcdStorage } from '../../../apiserver/storage/etcd/etcd.ts'
import { openStorage, parseStorage } from '../../../apiserver/storage/open-storage.ts'
import {
  CompactedError,
  type Storage,
  type StorageEvent,
  StorageFullError,
  StorageUnavailableError,
  ValueTooLargeError,
} from '../../../apiserver/storage/storage.ts'
import { realClock } from '../../../shared/clock/real-clock.ts'
import { etcdPrograms, missingEtcd, type RunningEtcd, startEtcd } from '../../harness/etcd.ts'
import { startTlsEtcd } from '../../harness/etcd-tls.ts'
import { skipOrFail } from '../../harness/skip.ts'
import { startTcpProxy, type TcpProxy } from '../../harness/tcp-proxy.ts'
import { until } from '../../harness/until.ts'

const pods = '/registry/core/pods/'
const key = (name: string): string => `${pods}ns/${name}`

async function open(t: Test, urls: string | string[], options: Partial<EtcdStorageOptions> = {}): Promise<Storage> {
  const storage = await openEtcdStorage({
    endpoints: [urls].flat(),
    prefix: '/registry',
    clock: realClock,
    compactionIntervalMs: 0,
    ...options,
  })
  t.teardown(() => storage.close())
  return storage
}
const create = (storage: Storage, name: string, value = '{}') =>
  storage.put({ key: key(name), value, expect: 'absent' })
const urlOf = ({ port }: TcpProxy): string => `http://127.0.0.1:${port}`
const putDirectly = ({ client }: RunningEtcd, theirs: string, value = '{}') =>
  client.call('txn', { success: [{ request_put: { key: theirs, value } }] }, { isRepeatable: false })

async function refuses(t: Test, call: Promise<unknown>, type: new (...args: never[]) => Error, text = /./) {
  const error: unknown = await call.then(
    () => undefined,
    (error: unknown) => error,
  )
  t.ok(error instanceof type, `${error}`)
  t.match((error as Error | undefined)?.message, text)
}

function collect(storage: Storage, prefix = pods): StorageEvent[] {
  const events: StorageEvent[] = []
  storage.watch({ prefix, onEvents: (batch) => void events.push(...batch) })
  return events
}
const revisions = (events: readonly StorageEvent[]): number[] => events.map(({ revision }) => revision)

const programs = etcdPrograms()
for (const reason of missingEtcd(programs)) skipOrFail(t, reason)

for (const program of programs) {
  const test = (title: string, body: (t: Test, etcd: RunningEtcd) => Promise<void>): void =>
    void t.test(`etcd ${program.version}: ${title}`, async (t) => body(t, await startEtcd(t, program)))

  test('a lost connection neither loses nor repeats an event', async (t, etcd) => {
    const proxy = await startTcpProxy(t, etcd.url)
    const [near, far] = [await open(t, etcd.url), await open(t, urlOf(proxy))]
    const events = collect(far)
    for (let round = 0; round < 5; round++) {
      await create(near, `before-${round}`)
      proxy.cut()
      await create(near, `during-${round}`)
      await near.delete({ key: key(`before-${round}`) })
      await until(() => far.trouble?.(), { what: 'the cut to be noticed' })
      proxy.heal()
    }
    await until(() => far.revision() === near.revision(), { what: 'all events' })
    t.same(
      revisions(events),
      Array.from({ length: 15 }, (_, index) => index + 2),
    )
    t.equal(far.trouble?.(), undefined)
    t.same(await far.list({ prefix: pods }), await near.list({ prefix: pods }))
  })

  test('when a member fails, the next one is asked', async (t, etcd) => {
    const members = [await startTcpProxy(t, etcd.url), await startTcpProxy(t, etcd.url)] as const
    const storage = await open(t, members.map(urlOf))
    const events = collect(storage)
    for (const [round, member] of [...members, ...members].entries()) {
      member.cut()
      await until(() => create(storage, `pod-${round}`).catch(() => undefined), { what: 'a write by the other member' })
      member.heal()
    }
    t.same(
      events.map(({ key }) => key),
      [0, 1, 2, 3].map((round) => key(`pod-${round}`)),
    )
  })

  test('what was compacted during a cut is read again, and watchers are told of the gap', async (t, etcd) => {
    const proxy = await startTcpProxy(t, etcd.url)
    const storage = await open(t, urlOf(proxy))
    await create(storage, 'changed')
    await create(storage, 'deleted')
    let gap: number | undefined
    const onGap = (revision: number): void => {
      gap = revision
    }
    storage.watch({ prefix: pods, onEvents: () => {}, onGap })
    const events = collect(storage)
    proxy.cut()
    await putDirectly(etcd, '/registry/pods/ns/changed', '{"a":1}')
    await putDirectly(etcd, '/registry/pods/ns/changed', '{"a":2}')
    const remove = { request_delete_range: { key: '/registry/pods/ns/deleted' } }
    await etcd.client.call('txn', { success: [remove] }, { isRepeatable: false })
    await putDirectly(etcd, '/registry/pods/ns/new')
    await etcd.client.call('compact', { revision: 7 }, { isRepeatable: false })
    proxy.heal()
    await until(() => gap, { what: 'the gap' })
    t.equal(gap, 7)
    const { entries } = await storage.list({ prefix: pods })
    t.same(
      entries.map(({ key, value, revision }) => `${key.slice(pods.length)} ${value} ${revision}`),
      ['ns/changed {"a":2} 5', 'ns/new {} 7'],
    )
    t.same(
      events.map(({ type, key }) => `${type} ${key.slice(pods.length)}`),
      ['put ns/changed', 'put ns/new', 'delete ns/deleted'],
    )
    await refuses(t, storage.list({ prefix: pods, revision: 3 }), CompactedError)
    t.throws(() => storage.watch({ prefix: pods, afterRevision: 3, onEvents: () => {} }), /compacted/)
    t.match(await storage.put({ key: key('changed'), value: '{}', expect: 5 }), { ok: true, revision: 8 })
  })

  test('of two servers, each sees the writes of the other, and what was last said of the deleted', async (t, etcd) => {
    const [a, b] = [await open(t, etcd.url), await open(t, etcd.url)]
    const events = collect(b)
    await create(a, 'web', '{"a":1}')
    t.equal(
      await b
        .catchUp?.()
        .then(() => b.get(key('web')))
        .then((entry) => entry?.value),
      '{"a":1}',
    )
    t.match(await b.put({ key: key('web'), value: '{"b":1}', expect: 2 }), { ok: true })
    t.match(await a.put({ key: key('web'), value: '{"a":2}', expect: 2 }), { ok: false, current: { value: '{"b":1}' } })
    await a.delete({ key: key('web'), expect: 3, lastValue: '{"reason":"Update"}' })
    await b.catchUp?.()
    t.match(events.at(-1), { type: 'delete', revision: 4, lastValue: '{"reason":"Update"}' })
    t.match(await b.put({ key: key('web'), value: '{}', expect: 3 }), { ok: false, current: undefined })
    const later = await open(t, etcd.url)
    const past: StorageEvent[] = []
    later.watch({ prefix: pods, afterRevision: 1, onEvents: (batch) => void past.push(...batch) })
    t.same(revisions(past), [2, 3, 4], 'a server that starts later knows what happened before')
    t.equal(past.at(-1)?.lastValue, '{"reason":"Update"}')
  })

  test('a read is as fresh as etcd, also where others write below another prefix', async (t, etcd) => {
    const storage = await open(t, etcd.url)
    await putDirectly(etcd, '/others/key')
    await storage.catchUp?.()
    t.ok(storage.revision() >= 2, `${storage.revision()}`)
    await Promise.all(Array.from({ length: 50 }, () => storage.catchUp?.()))
    await putDirectly(etcd, '/registry/pods/ns/direct', '{"a":1}')
    await storage.catchUp?.()
    t.equal((await storage.get(key('direct')))?.value, '{"a":1}')
  })

  test('keys of a rule expire after their last write', async (t, etcd) => {
    const storage = await open(t, etcd.url)
    storage.expire?.({ prefix: pods, ttlMs: 1_000 })
    const events = collect(storage)
    await create(storage, 'short')
    await storage.put({ key: '/registry/core/secrets/ns/long', value: '{}', expect: 'absent' })
    await until(() => events.length === 2, { what: 'the event of the end' })
    t.match(events[1], { type: 'delete', key: key('short'), previous: { value: '{}' } })
    t.ok(await storage.get('/registry/core/secrets/ns/long'))
  })

  test('one of the servers compacts, and the others learn of it', async (t, etcd) => {
    const options = { compactionIntervalMs: 300 }
    const [a, b] = [await open(t, etcd.url, options), await open(t, etcd.url, options)]
    for (let round = 0; round < 3; round++) await create(a, `pod-${round}`)
    const compacted = async (): Promise<boolean> => {
      const request = { key: 'a', revision: 2 }
      const past = etcd.client.call('range', request, { isRepeatable: true })
      return past.then(
        () => false,
        () => true,
      )
    }
    await until(compacted, { what: 'the compaction' })
    const { kvs } = await etcd.client.call('range', { key: 'compact_rev_key' }, { isRepeatable: true })
    t.ok(Number(kvs[0]?.value) > 0)
    t.equal((await b.list({ prefix: pods })).entries.length, 3)
    await refuses(t, (await open(t, etcd.url)).list({ prefix: pods, revision: 2 }), CompactedError)
  })

  test('a value that etcd finds too large is refused, and the next is not', async (t, etcd) => {
    const storage = await open(t, etcd.url)
    for (const bytes of [1_600_000, 3_000_000])
      await refuses(t, create(storage, 'big', 'x'.repeat(bytes)), ValueTooLargeError)
    t.match(await create(storage, 'big', 'x'.repeat(1_400_000)), { ok: true })
    t.equal((await (await open(t, etcd.url)).get(key('big')))?.value.length, 1_400_000)
  })

  test('an etcd that goes back, or is another, is written to no more', async (t, etcd) => {
    const proxy = await startTcpProxy(t, etcd.url)
    const lines: string[] = []
    const storage = await open(t, urlOf(proxy), { onTrouble: (line) => void lines.push(line) })
    for (const name of ['a', 'b', 'c']) await create(storage, name)
    const empty = await startEtcd(t, program, { instead: etcd })
    await t.rejects(
      until(
        () =>
          create(storage, 'd').catch((error) =>
            error.message.includes('start all') ? Promise.reject(error) : undefined,
          ),
        { what: 'the refusal' },
      ),
      { message: /^etcd at \S+ (went back from revision 4 to 1|is now another etcd cluster)/ },
    )
    t.match(storage.trouble?.(), /start all API servers again$/)
    await refuses(t, storage.put({ key: key('a'), value: '{}', expect: 2 }), StorageUnavailableError)
    const { kvs } = await empty.client.call('range', { key: '/registry/pods/ns/d' }, { isRepeatable: true })
    t.ok(kvs.length <= 1)
    t.ok(lines.some((line) => line.includes('start all API servers again')))
  })

  t.test(`etcd ${program.version}: a full quota refuses writes and takes deletes`, async (t) => {
    const etcd = await startEtcd(t, program, { args: ['--quota-backend-bytes', '6000000'] })
    const rooms: boolean[] = []
    const storage = await open(t, etcd.url, { onRoom: (isFull) => void rooms.push(isFull) })
    const fill = async (): Promise<void> => {
      for (let index = 0; index < 20; index++) await create(storage, `fill-${index}`, 'x'.repeat(1_000_000))
    }
    await refuses(t, fill(), StorageFullError, /database space exceeded.*alarm disarm/)
    t.same(rooms, [true])
    t.match(await storage.delete({ key: key('fill-0'), lastValue: '{"why":1}' }), { ok: true })
    t.equal(await storage.get(key('fill-0')), undefined)
    t.match(await storage.delete({ key: key('fill-1') }), { ok: true })
    t.same(rooms, [true], 'a delete does not say that there is room')
  })

  t.test(`etcd ${program.version}: with TLS, and without what belongs to it`, async (t) => {
    const { etcd, file, mine } = await startTlsEtcd(t, program)
    const start = (changed: object, url = etcd.url) =>
      openStorage(parseStorage(`etcd:${url}`), { clock: realClock, ...mine, ...changed })
    const storage = await start({})
    t.match(await create(storage, 'web'), { ok: true })
    await storage.close()
    const refused: [object, RegExp, string?][] = [
      [{ etcdCafile: '' }, /its certificate is not signed by the CA of --etcd-cafile .*; pass the CA of etcd$/],
      [{ etcdCafile: file('other.crt') }, /its certificate is not signed by the CA of --etcd-cafile/],
      [
        { etcdCertfile: '', etcdKeyfile: '' },
        /refuses our client certificate; pass one of its CA with --etcd-certfile/,
      ],
      [{ etcdKeyfile: '' }, /^--etcd-certfile and --etcd-keyfile belong together/],
      [{ etcdCafile: file('none.crt') }, /^--etcd-cafile: there is no file .*none.crt; pass a PEM file/],
      [{ etcdKeyfile: file('other.key') }, /^--etcd-keyfile: the file cannot be used/],
      [{}, /cannot be (reached|used)|does not speak/, etcd.url.replace('https', 'http')],
    ]
    for (const [changed, message, url] of refused) {
      await t.rejects(start(changed, url), { name: 'ConfigError', message }, `${message}`)
    }
  })

  test("a prefix below another cluster's, or above, is refused", async (t, etcd) => {
    const open = (prefix: string) => openEtcdStorage({ endpoints: [etcd.url], prefix, clock: realClock })
    const mark = '/registry/kubestage.dev/cluster/service-account-key'
    const below = await open('/teams/blue')
    await below.put({ key: mark, value: '{}', expect: 'absent' })
    await below.put({
      key: '/registry/core/configmaps/namespaces/kube-system',
      value: '{"metadata":{}}',
      expect: 'absent',
    })
    await t.rejects(open('/teams'), {
      name: 'ConfigError',
      message:
        'the keys of another cluster are below /teams/blue/ in etcd, and so below /teams/; name another prefix with --etcd-prefix',
    })
    for (const prefix of ['/teams/blue/a', '/teams/blue/a/b/'])
      await t.rejects(open(prefix), {
        name: 'ConfigError',
        message: /^the keys of another cluster are below \/teams\/blue\/ in etcd; .* --etcd-prefix$/,
      })
    await putDirectly(etcd, '/real/namespaces/kube-system', 'k8s\0')
    await t.rejects(open('/real/ours'), { message: /^the keys of another cluster are below \/real\/ in etcd; / })
    for (const prefix of ['/teams/blue', '/teams/red', '/teams/blues', '/others']) await (await open(prefix)).close()
    await below.close()
  })

  test('objects of a real kube-apiserver are not touched', async (t, etcd) => {
    await putDirectly(etcd, '/registry/pods/default/web', 'k8s\0\n\t')
    await t.rejects(open(t, etcd.url), {
      name: 'ConfigError',
      message: /are those of a real kube-apiserver; name another prefix with --etcd-prefix$/,
    })
    t.match(await create(await open(t, etcd.url, { prefix: '/kubestage' }), 'web'), { ok: true })
  })
}

t.test('what is no etcd is named in one sentence', async (t) => {
  const server = createServer((_, response) => response.end('hello'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  await t.rejects(open(t, `http://127.0.0.1:${port}`), {
    name: 'ConfigError',
    message: /^etcd at http:\/\/127.0.0.1:\d+ (does not speak etcd's API of version 3|cannot be reached)[^\n]*$/,
  })
  await t.rejects(open(t, 'http://127.0.0.1:1'), {
    name: 'ConfigError',
    message: /^etcd at http:\/\/127.0.0.1:1 cannot be reached: connect ECONNREFUSED 127.0.0.1:1; start it, or name/,
  })
})
