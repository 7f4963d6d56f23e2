import t from 'tap'
import { startExpiry } from '../../../apiserver/registry/expiry.ts'
import { createMemoryStorage } from '../../../apiserver/storage/memory.ts'
import type { Storage } from '../../../apiserver/storage/storage.ts'
import { createVirtualClock } from '../../../shared/clock/virtual-clock.ts'
import { until } from '../../harness/until.ts'
import { storageSuite } from './suite.ts'

storageSuite('memory', async () => createMemoryStorage())

t.test('memory: watchers hear of a write before the writer does', async (t) => {
  const storage = createMemoryStorage()
  const order: string[] = []
  storage.watch({ prefix: '/', onEvents: () => order.push('watcher') })
  await storage.put({ key: '/a', value: '1', expect: 'absent' }).then(() => order.push('writer'))
  t.same(order, ['watcher', 'writer'])
})

t.test('memory: history is bounded in number and in bytes', async (t) => {
  const few = createMemoryStorage({ history: { events: 10, bytes: 1e9 } })
  for (let i = 0; i < 50; i++) await few.put({ key: `/${i}`, value: 'x', expect: 'absent' })
  await t.rejects(few.list({ prefix: '/', revision: 40 }), /the oldest is 41/)
  t.equal((await few.list({ prefix: '/', revision: 41 })).entries.length, 40)

  const small = createMemoryStorage({ history: { events: 1e9, bytes: 10_000 } })
  for (let i = 1; i < 50; i++) await small.put({ key: '/a', value: 'x'.repeat(1000), expect: i === 1 ? 'absent' : i })
  await t.rejects(small.list({ prefix: '/', revision: 30 }), /has been compacted/)
  t.equal((await small.list({ prefix: '/', revision: 48 })).entries[0]?.revision, 48)
})

t.test('objects that are no longer written expire', async (t) => {
  const storage = createMemoryStorage()
  const clock = createVirtualClock()
  const expiry = startExpiry({ storage, clock, prefix: '/events/', ttlMs: 3_600_000 })
  await storage.put({ key: '/events/a', value: '1', expect: 'absent' })
  await storage.put({ key: '/events/b', value: '1', expect: 'absent' })
  await storage.put({ key: '/others/c', value: '1', expect: 'absent' })
  await clock.advance(1_800_000)
  await storage.put({ key: '/events/a', value: '2', expect: 2 })
  const keys = async () => (await storage.list({ prefix: '/' })).entries.map(({ key }) => key)
  await clock.advance(1_860_000)
  t.same(await keys(), ['/events/a', '/others/c'])
  await clock.advance(1_860_000)
  t.same(await keys(), ['/others/c'])
  expiry.close()

  const bounded = startExpiry({ storage, clock, prefix: '/records/', ttlMs: 3_600_000, max: 2 })
  for (const name of ['a', 'b', 'c']) await storage.put({ key: `/records/${name}`, value: '1', expect: 'absent' })
  await until(async () => !(await keys()).includes('/records/a'), { what: 'the oldest of too many to go' })
  t.same(await keys(), ['/others/c', '/records/b', '/records/c'])
  bounded.close()

  let isFull = true
  const failing: Pick<Storage, 'watch' | 'list' | 'delete'> = {
    watch: (options) => storage.watch(options),
    list: (options) => storage.list(options),
    delete: (options) => (isFull ? Promise.reject(new Error('disk full')) : storage.delete(options)),
  }
  const patient = startExpiry({ storage: failing, clock, prefix: '/records/', ttlMs: 3_600_000 })
  await clock.advance(3_660_000)
  t.equal((await keys()).length, 3, 'what could not be deleted')
  isFull = false
  await clock.advance(3_660_000)
  t.same(await keys(), ['/others/c'], 'goes when its time is over once more')
  patient.close()
})
