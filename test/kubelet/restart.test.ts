/** A kubelet that is gone for a while: what it left behind is found again. */
import t from 'tap'
import type { Pod } from '../../shared/api/types.ts'
import { machine } from './machine.ts'

t.test('what runs goes on, ready, with its id and restart count', async (t) => {
  const { clock, start, create, container, signals } = machine(t)
  const first = await start()
  await create()
  await clock.advance(2_000)
  const before = container()
  t.match(before, { ready: true, state: { running: {} } })
  await first.close()
  await clock.advance(60_000)
  const second = await start()
  await clock.advance(5_000)
  t.same(container(), before)
  t.same(signals, [])
  await second.close()
})

t.test('a termination begins again, with the whole grace', async (t) => {
  const { clock, api, start, create, signals, events } = machine(t, { onTerm: 'ignore' })
  const first = await start()
  await create()
  await clock.advance(2_000)
  api.deletePod('p')
  await clock.advance(3_000)
  await first.close()
  const second = await start()
  t.equal(events.filter((reason) => reason === 'Killing').length, 2)
  await clock.advanceUntil(() => api.object('pods', 'p') === undefined, { limitMs: 20_000 })
  t.ok(signals.includes('KILL'))
  await second.close()
})

t.test('deleted while no kubelet was there: what is left is ended at once', async (t) => {
  const { clock, api, runtime, start, create, signals } = machine(t)
  const first = await start()
  await create()
  await clock.advance(2_000)
  await first.close()
  api.deletePod('p', { gracePeriodSeconds: 0 })
  const second = await start()
  t.same(await runtime.list(), { sandboxes: [], containers: [] })
  t.same(signals, ['KILL'], 'no TERM')
  await second.close()
})

t.test('exited while no kubelet was there: restarted, and counted', async (t) => {
  const { clock, start, create, container } = machine(t, { exitAfterMs: 30_000, exitCode: 3 })
  const first = await start()
  await create()
  await clock.advance(2_000)
  await first.close()
  await clock.advance(40_000)
  const second = await start()
  await clock.advance(1_000)
  t.match(container(), { restartCount: 1, state: { running: {} }, lastState: { terminated: { exitCode: 3 } } })
  await second.close()
})

t.test('while a container waits for its restart, its newest record alone is kept', async (t) => {
  const { clock, runtime, start, create, container } = machine(t, { exitAfterMs: 1_000, exitCode: 3 })
  const kubelet = await start()
  await create()
  await clock.advance(4_000)
  const { containers } = await runtime.list()
  t.match(containers, [{ attempt: 1, state: 'exited' }])
  t.equal(containers.length, 1)
  t.match(container(), { restartCount: 1, lastState: { terminated: { exitCode: 3 } } }, 'what was told stays')
  await kubelet.close()
})

t.test('a pod that was over is left as it is', async (t) => {
  const { clock, api, start, create } = machine(t)
  const first = await start()
  await create()
  await clock.advance(2_000)
  const ended = first.shutdown()
  await clock.advance(10_000)
  await ended
  await first.close()
  const before = api.object<Pod>('pods', 'p')
  const second = await start()
  await clock.advance(30_000)
  t.same(api.object('pods', 'p'), before)
  await second.close()
})
