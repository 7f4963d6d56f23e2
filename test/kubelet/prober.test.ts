import t from 'tap'
import { ProbeWorker, type ProbeWorkerOptions } from '../../kubelet/prober/probe-worker.ts'
import { toTime } from '../../shared/clock/timestamp.ts'
import { createVirtualClock } from '../../shared/clock/virtual-clock.ts'

function startWorker(options: Partial<ProbeWorkerOptions> = {}) {
  const clock = createVirtualClock()
  const runs: number[] = []
  const beganMs = clock.monotonic()
  let ended = false
  const startedAt = toTime(clock.now() - 60_000)
  const worker = new ProbeWorker({
    pod: { metadata: { name: 'p' }, spec: { containers: [{ name: 'c' }] } },
    container: { name: 'c' },
    type: 'readiness',
    probe: { exec: { command: ['check'] }, periodSeconds: 5 },
    clock,
    status: () => ({
      phase: 'Running',
      containerStatuses: [
        {
          name: 'c',
          containerID: 'containerd://1',
          started: true,
          ready: false,
          restartCount: 0,
          image: '',
          imageID: '',
          state: { running: { startedAt } },
        },
      ],
    }),
    adopted: () => undefined,
    result: () => undefined,
    onResult() {},
    async run() {
      runs.push((clock.monotonic() - beganMs) / 1000)
      return 'success'
    },
    onEnd() {
      ended = true
    },
    ...options,
  })
  return { clock, runs, worker, hasEnded: () => ended }
}

t.test('ticks count from the start, or from the last immediate probe', async (t) => {
  const { clock, runs, worker, hasEnded } = startWorker()
  await clock.advance(11_000)
  t.same(runs.splice(0), [0, 5, 10])
  worker.trigger()
  await clock.advance(9_000)
  t.same(runs.splice(0), [11, 16])
  worker.stop()
  await clock.advance(20_000)
  t.same(runs, [])
  t.equal(hasEnded(), true)
})

t.test('a probe of a container that was there before may begin later', async (t) => {
  const { clock, runs, worker } = startWorker({ startInMs: 3_000 })
  worker.trigger()
  await clock.advance(2_900)
  t.same(runs, [], 'whoever wants to know')
  await clock.advance(6_000)
  t.same(runs, [3, 3, 8], 'what was asked meanwhile is asked then')

  const stopped = startWorker({ startInMs: 3_000 })
  stopped.worker.stop()
  await stopped.clock.advance(10_000)
  t.same(stopped.runs, [])
  t.equal(stopped.hasEnded(), true)
})

t.test(
  'a probe that is slower than its period is not run twice at a time, and follows at once: one tick is kept',
  async (t) => {
    const started: number[] = []
    const { clock } = startWorker({
      async run() {
        started.push(clock.monotonic() / 1000)
        await clock.sleep(12_000)
        return 'success'
      },
    })
    await clock.advance(30_000)
    t.same(started, [0, 12, 24], 'of two ticks only one counts')
  },
)
