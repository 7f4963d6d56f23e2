/** What five thousand probes cost a process that has nothing else to do, beyond what they run: a share of one core. */
import { ProbeWorker } from '../kubelet/prober/probe-worker.ts'
import type { Container, Pod, PodStatus } from '../shared/api/types.ts'
import { realClock } from '../shared/clock/real-clock.ts'
import { toTime } from '../shared/clock/timestamp.ts'

const COUNT = 5_000
const PERIOD_SECONDS = 10
const MEASURED_MS = 2 * PERIOD_SECONDS * 1000

const container: Container = { name: 'main', image: 'bench' }
const pod: Pod = { metadata: { name: 'bench', namespace: 'bench', uid: 'bench' }, spec: { containers: [container] } }
const status: PodStatus = {
  phase: 'Running',
  containerStatuses: [
    {
      name: 'main',
      image: 'bench',
      imageID: 'bench',
      containerID: 'bench://1',
      ready: true,
      started: true,
      restartCount: 0,
      state: { running: { startedAt: toTime(realClock.now()) } },
    },
  ],
}

let ran = 0
const workers: ProbeWorker[] = []
// Started as pods are: not all in one moment.
for (let i = 0; i < COUNT; i++) {
  if (i % 50 === 0) await realClock.sleep((PERIOD_SECONDS * 1000 * 50) / COUNT)
  workers.push(
    new ProbeWorker({
      pod,
      container,
      type: 'liveness',
      probe: { periodSeconds: PERIOD_SECONDS },
      clock: realClock,
      status: () => status,
      adopted: () => undefined,
      result: () => 'success',
      onResult: () => {},
      async run() {
        ran += 1
        return 'success'
      },
      onEnd: () => {},
    }),
  )
}
ran = 0
const before = process.cpuUsage()
const startedMs = realClock.monotonic()
const alive = realClock.setTimer(MEASURED_MS + 60_000, () => {})
await realClock.sleep(MEASURED_MS)
const { user, system } = process.cpuUsage(before)
const elapsedMs = realClock.monotonic() - startedMs
alive.cancel()
for (const worker of workers) worker.stop()
process.send?.({ percent: ((user + system) / 1000 / elapsedMs) * 100, perSecond: (ran / elapsedMs) * 1000 })
