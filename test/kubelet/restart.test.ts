/** A kubelet that is gone for a while: what it left behind is found again. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t, { type Test } from 'tap'
import { type Kubelet, startKubelet } from '../../kubelet/kubelet.ts'
import { type Behaviour, createSimulatedRuntime } from '../../kubelet/runtime/simulated.ts'
import type { Event, Pod } from '../../shared/api/types.ts'
import { createVirtualClock } from '../../shared/clock/virtual-clock.ts'
import { createMemoryApi } from './memory-api.ts'

const PODS = { group: '', version: 'v1', plural: 'pods' }

function machine(t: Test, behaviour: Behaviour = {}) {
  const rootDir = mkdtempSync(path.join(tmpdir(), 'kubestage-restart-'))
  t.teardown(() => rmSync(rootDir, { recursive: true, force: true }))
  const clock = createVirtualClock()
  const api = createMemoryApi(clock)
  const signals: string[] = []
  const events: string[] = []
  api.onWrite(({ plural, object }) => {
    if (plural === 'events') events.push((object as unknown as Event).reason ?? '')
  })
  const runtime = createSimulatedRuntime({
    clock,
    behaviour: () => behaviour,
    onSignal: (_, signal) => signals.push(signal),
  })
  const start = async (): Promise<Kubelet> => {
    const kubelet = await startKubelet({
      client: api.client,
      clock,
      runtime,
      rootDir,
      actions: { run: async () => ({ outcome: 'success', output: '', message: '' }) },
      log: { info() {}, warn() {}, error() {} },
      nodeName: 'n1',
      nodeIP: '127.0.0.1',
      port: 0,
    })
    await clock.advance(10)
    await kubelet.ready
    return kubelet
  }
  const create = () =>
    api.client.create(
      PODS,
      {
        metadata: { name: 'p' },
        spec: {
          nodeName: 'n1',
          restartPolicy: 'Always',
          terminationGracePeriodSeconds: 8,
          containers: [{ name: 'c', image: 'x', readinessProbe: { exec: { command: ['true'] }, periodSeconds: 60 } }],
        },
        status: { phase: 'Pending' },
      },
      { namespace: 'default' },
    )
  const container = () => api.object<Pod>('pods', 'p')?.status?.containerStatuses?.[0]
  return { clock, api, runtime, signals, events, start, create, container }
}

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
  t.same(signals, [], 'no TERM')
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

t.test('a pod that was over is left as it is', async (t) => {
  const { clock, api, start, create } = machine(t)
  const first = await start()
  await create()
  await clock.advance(2_000)
  const ended = first.shutdown(10)
  await clock.advance(10_000)
  await ended
  await first.close()
  const before = api.object<Pod>('pods', 'p')
  const second = await start()
  await clock.advance(30_000)
  t.same(api.object('pods', 'p'), before)
  await second.close()
})

t.test('shutdown ends all pods, and tells why', async (t) => {
  const { clock, api, start, create } = machine(t)
  const kubelet = await start()
  await create()
  await clock.advance(2_000)
  const ended = kubelet.shutdown(10)
  await clock.advance(10_000)
  await ended
  t.match(api.object<Pod>('pods', 'p')?.status, {
    phase: 'Failed',
    reason: 'Terminated',
    message: 'Pod was terminated in response to imminent node shutdown.',
  })
  await kubelet.close()
})

t.test('shutdown gives no pod more than its own grace', async (t) => {
  const { clock, start, create, signals } = machine(t, { onTerm: 'ignore' })
  const kubelet = await start()
  await create()
  await clock.advance(2_000)
  const ended = kubelet.shutdown(30)
  await clock.advance(7_900)
  t.same(signals, ['TERM'])
  await clock.advance(300)
  t.same(signals, ['TERM', 'KILL'], 'after its 8 s, not after 30')
  await clock.advance(2_000)
  await ended
  await kubelet.close()
})
