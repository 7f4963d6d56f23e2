import t from 'tap'
import type { EtcdClient } from '../../../apiserver/storage/etcd/client.ts'
import { openEtcdStorage } from '../../../apiserver/storage/etcd/etcd.ts'
import { Feed } from '../../../apiserver/storage/etcd/feed.ts'
import { readPast } from '../../../apiserver/storage/etcd/load.ts'
import type { Message } from '../../../apiserver/storage/etcd/messages.ts'
import type { StorageEvent } from '../../../apiserver/storage/storage.ts'
import { realClock } from '../../../shared/clock/real-clock.ts'
import { etcdPrograms, missingEtcd, startEtcd } from '../../harness/etcd.ts'
import { skipOrFail } from '../../harness/skip.ts'
import { startTcpProxy } from '../../harness/tcp-proxy.ts'
import { until } from '../../harness/until.ts'
import { newest } from '../../harness/versions.ts'

const pods = '/registry/core/pods/'

const programs = etcdPrograms()
for (const reason of missingEtcd(programs)) skipOrFail(t, reason)

for (const program of newest(programs)) {
  t.test(`etcd ${program.version}: what is told at once after a cut may be larger than a message`, async (t) => {
    const etcd = await startEtcd(t, program)
    const proxy = await startTcpProxy(t, etcd.url)
    const open = async (url: string) => {
      const storage = await openEtcdStorage({ endpoints: [url], prefix: '/registry', clock: realClock })
      t.teardown(() => storage.close())
      return storage
    }
    const [near, far] = [await open(etcd.url), await open(`http://127.0.0.1:${proxy.port}`)]
    const events: StorageEvent[] = []
    far.watch({ prefix: pods, onEvents: (batch) => void events.push(...batch) })
    proxy.cut()
    const written: { revision: number; length: number }[] = []
    for (let index = 0; index < 6; index++) {
      const value = JSON.stringify({ x: 'x'.repeat(1_200_000 + index) })
      const result = await near.put({ key: `${pods}ns/big-${index}`, value, expect: 'absent' })
      if (result.ok) written.push({ revision: result.revision, length: value.length })
    }
    proxy.heal()
    await until(() => events.length >= written.length, { what: 'the events' })
    t.same(
      events.map(({ revision, value }) => ({ revision, length: value?.length })),
      written,
    )
  })

  t.test(
    `etcd ${program.version}: a start reads all at one revision, also where that is compacted meanwhile`,
    async (t) => {
      const { client } = await startEtcd(t, program)
      const put = (from: number, value: string) =>
        client.call(
          'txn',
          {
            success: Array.from({ length: 100 }, (_, index) => ({
              request_put: { key: `/registry/pods/ns/p-${from + index}`, value },
            })),
          },
          { isRepeatable: true },
        )
      for (let from = 1000; from < 2200; from += 100) await put(from, '"old"')
      let pages = 0
      const meanwhile: Pick<EtcdClient, 'call'> = {
        async call(name, draft, options) {
          const answer = await client.call(name, draft, options)
          if (name === 'range' && 'limit' in draft && ++pages === 1) {
            const { header } = await put(1000, '"new"')
            await client.call('compact', { revision: header?.revision ?? 0 }, { isRepeatable: true })
          }
          return answer
        },
      }
      const { entries, revision } = await readPast(meanwhile, '/registry/', { events: 5 })
      t.ok(pages > 3, 'it began again')
      t.equal(entries.length, 1200)
      t.equal(entries.filter(({ value }) => value === '"new"').length, 100, 'with what was written meanwhile')
      t.ok(entries.every((entry) => entry.revision <= revision))
    },
  )
}

t.test('fragments of a response are told together, and those of a lost stream not at all', async (t) => {
  type Handlers = Parameters<EtcdClient['openWatch']>[0]
  const streams: Handlers[] = []
  const asked: number[] = []
  const told: [revisions: number[], revision: number][] = []
  const feed = new Feed({
    client: {
      async openWatch(handlers) {
        streams.push(handlers)
        return {
          send: ({ create_request }) => void (create_request && asked.push(create_request.start_revision ?? 0)),
          close: () => {},
        }
      },
    },
    clock: realClock,
    range: { key: 'a', range_end: 'b' },
    after: 4,
    onEvents: (events, revision) => void told.push([events.map(({ kv }) => kv?.mod_revision ?? 0), revision]),
    onCompacted: async () => 0,
    onConnection: () => {},
  })
  t.teardown(() => feed.close())
  const response = (fragment: boolean, ...revisions: number[]): Message<'WatchResponse'> => ({
    header: { cluster_id: '1', revision: 9 },
    ...{ watch_id: 0, created: false, canceled: false, compact_revision: 0, cancel_reason: '', fragment },
    events: revisions.map((mod_revision) => ({
      type: 0,
      kv: { key: `a${mod_revision}`, value: '{}', mod_revision, version: 1, lease: '0' },
    })),
  })
  await until(() => streams.length === 1 && asked.length === 1, { what: 'the stream' })
  streams[0]!.onResponse(response(true, 5, 6))
  t.same(told, [], 'a part is not told')
  streams[0]!.onEnd(undefined)
  await until(() => streams.length === 2 && asked.length === 2, { what: 'the next stream' })
  t.same(asked, [5, 5], 'from where the last whole response ended')
  streams[1]!.onResponse(response(true, 5, 6))
  streams[1]!.onResponse(response(true, 6, 7))
  streams[1]!.onResponse(response(false, 7))
  t.same(told, [[[5, 6, 6, 7, 7], 7]], 'of one revision several keys may be in several fragments')
})
