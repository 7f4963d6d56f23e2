/** What the kubelet writes last: a termination record for each pod that it ended, before it is cut off or ends itself. */
import t, { type Test } from 'tap'
import { type Kubelet, startKubelet } from '../../kubelet/kubelet.ts'
import { createSimulatedRuntime } from '../../kubelet/runtime/simulated.ts'
import type { Termination } from '../../shared/api/termination.ts'
import type { Pod } from '../../shared/api/types.ts'
import type { Client } from '../../shared/client/client.ts'
import { pods, terminations } from '../../shared/client/resources.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { createVirtualClock, type VirtualClock } from '../../shared/clock/virtual-clock.ts'
import { createMemoryApi } from './memory-api.ts'
import { simulatedActions } from './simulated-actions.ts'

const COUNT = 20

/** An API server that takes its time with records. */
const slow = (client: Client, records: string[]): Client => ({
  ...client,
  async create(resource, object, options) {
    if (resource.plural !== terminations.plural) return client.create(resource, object, options)
    await realClock.sleep(5)
    records.push((object as unknown as Termination).podName ?? '')
    return object
  },
})

async function start(t: Test): Promise<{ kubelet: Kubelet; clock: VirtualClock; records: string[] }> {
  const clock = createVirtualClock(undefined, realClock)
  const api = createMemoryApi(clock)
  const records: string[] = []
  const kubelet = await startKubelet({
    client: slow(api.client, records),
    clock,
    log: { info() {}, warn() {}, error() {} },
    runtime: createSimulatedRuntime({ clock }),
    actions: simulatedActions(clock),
    rootDir: t.testdir(),
    nodeName: 'n1',
    nodeIP: '127.0.0.1',
    port: 0,
    shutdownGroups: [{ priority: 0, graceSeconds: 30 }],
  })
  await clock.advanceUntil(() => api.object('nodes', 'n1') !== undefined)
  await kubelet.ready
  for (let i = 0; i < COUNT; i++) {
    const pod: Pod = {
      metadata: { name: `p${i}` },
      spec: { nodeName: 'n1', containers: [{ name: 'c', image: 'i' }], terminationGracePeriodSeconds: i % 3 },
      status: { phase: 'Pending' },
    }
    await api.client.create<Pod>(pods, pod, { namespace: 'default' })
  }
  const isRunning = (i: number) => api.object<Pod>('pods', `p${i}`)?.status?.phase === 'Running'
  await clock.advanceUntil(() => Array.from({ length: COUNT }, (_, i) => i).every(isRunning))
  return { kubelet, clock, records }
}

/** Moves the clock until the promise resolves. */
async function passing(clock: VirtualClock, promise: Promise<void>): Promise<void> {
  let isOver = false
  const over = promise.finally(() => {
    isOver = true
  })
  while (!isOver) await Promise.race([over, clock.advance(500).then(() => realClock.sleep(1))])
}
const expected = Array.from({ length: COUNT }, (_, i) => `p${i}`).sort()

t.test('a node that is shut down is cut off after the last record', async (t) => {
  const { kubelet, clock, records } = await start(t)
  await passing(clock, kubelet.controls.shutDown())
  t.ok(kubelet.isLost())
  t.same(records.toSorted(), expected)
  await passing(clock, kubelet.close())
})

t.test('a kubelet that ends with its pods ends after the last record', async (t) => {
  const { kubelet, clock, records } = await start(t)
  await passing(clock, kubelet.shutdown())
  await passing(clock, kubelet.close())
  t.same(records.toSorted(), expected)
})
