import t, { type Test } from 'tap'
import { WriteTries } from '../../../apiserver/registry/writes/write-tries.ts'
import { SharedDeletionRequests } from '../../../apiserver/several-servers/shared-deletion-requests.ts'
import { createMemoryStorage } from '../../../apiserver/storage/memory.ts'
import type { Storage } from '../../../apiserver/storage/storage.ts'
import { createVirtualClock } from '../../../shared/clock/virtual-clock.ts'
import { KeyedTurns } from '../../../shared/concurrency/keyed-turns.ts'

const request = { user: 'jane', time: '2026-01-01T00:00:00Z', gracePeriodSeconds: 5 }
const tooLate = {
  code: 504,
  message: 'Timeout: request did not complete within requested timeout - context deadline exceeded',
}

/** A storage where other servers write the entry first, `times` times, each after `lateMs`. */
function stage(t: Test, { times, lateMs = 10 }: { times: number; lateMs?: number }) {
  const clock = createVirtualClock()
  const memory = createMemoryStorage()
  const state = { tried: 0, times }
  const lost = async (): Promise<boolean> => {
    state.tried += 1
    if (state.tried > state.times) return false
    await clock.advance(lateMs)
    return true
  }
  const storage: Storage = {
    ...memory,
    catchUp: async () => true,
    put: async (write) => ((await lost()) ? { ok: false } : memory.put(write)) as Awaited<ReturnType<Storage['put']>>,
    delete: async (write) =>
      ((await lost()) ? { ok: false } : memory.delete(write)) as Awaited<ReturnType<Storage['delete']>>,
  }
  const requests = new SharedDeletionRequests(storage, clock)
  t.teardown(() => requests.close())
  return { clock, state, requests, tries: new WriteTries({ storage, clock, turns: new KeyedTurns() }) }
}

t.test('a request is announced however often other servers write before, while there is time', async (t) => {
  const { requests, state, tries } = stage(t, { times: 1_000 })
  const announced = await requests.announce('uid', request, tries)
  t.equal(state.tried, 1_001)
  await requests.load()
  t.same(requests.of('uid'), [request])
  state.times += 1_000
  await announced.takeBack()
  await requests.load()
  t.equal(requests.of('uid'), undefined)
})

t.test('when the time is over, the deletion is refused as a real server does', async (t) => {
  const { requests, state, tries } = stage(t, { times: Number.POSITIVE_INFINITY, lateMs: 1_000 })
  await t.rejects(requests.announce('uid', request, tries), tooLate)
  t.equal(state.tried, 34, 'one try a second')
})

t.test('so is one that cannot be taken back', async (t) => {
  const { requests, state, tries } = stage(t, { times: 0, lateMs: 1_000 })
  const announced = await requests.announce('uid', request, tries)
  state.times = Number.POSITIVE_INFINITY
  await t.rejects(announced.takeBack(), tooLate)
})
