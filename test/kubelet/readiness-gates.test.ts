import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t from 'tap'
import { startKubelet } from '../../kubelet/kubelet.ts'
import { createSimulatedRuntime } from '../../kubelet/runtime/simulated.ts'
import type { Pod } from '../../shared/api/types.ts'
import { pods } from '../../shared/client/resources.ts'
import { createVirtualClock } from '../../shared/clock/virtual-clock.ts'
import { createMemoryApi } from './memory-api.ts'
import { simulatedActions } from './simulated-actions.ts'

t.test('a gate without a condition is closed', async (t) => {
  const rootDir = mkdtempSync(path.join(tmpdir(), 'kubestage-gates-'))
  const clock = createVirtualClock()
  const api = createMemoryApi(clock)
  const kubelet = await startKubelet({
    client: api.client,
    clock,
    log: { info() {}, warn() {}, error() {} },
    runtime: createSimulatedRuntime({ clock }),
    actions: simulatedActions(clock),
    rootDir,
    nodeName: 'n1',
    nodeIP: '127.0.0.1',
    port: 0,
  })
  t.teardown(async () => {
    await kubelet.close()
    rmSync(rootDir, { recursive: true, force: true })
  })
  await clock.advanceUntil(() => api.object('nodes', 'n1') !== undefined)
  await kubelet.ready
  const gate = 'www.example.com/feature-1'
  const pod: Pod = {
    metadata: { name: 'p' },
    spec: {
      nodeName: 'n1',
      restartPolicy: 'Always',
      containers: [{ name: 'c', image: 'i' }],
      readinessGates: [{ conditionType: gate }],
    },
    status: { phase: 'Pending' },
  }
  const ref = { namespace: 'default', name: 'p' }
  await api.client.create<Pod>(pods, pod, { namespace: ref.namespace })
  const condition = (type: string) => api.object<Pod>('pods', 'p')?.status?.conditions?.find((one) => one.type === type)
  await clock.advanceUntil(() => condition('ContainersReady')?.status === 'True')
  t.match(
    condition('Ready'),
    {
      status: 'False',
      reason: 'ReadinessGatesNotReady',
      message: `corresponding condition of pod readiness gate "${gate}" does not exist.`,
    },
    'a gate without a condition counts as False',
  )
  const conditions = () => api.object<Pod>('pods', 'p')?.status?.conditions ?? []
  const times = { lastProbeTime: null, lastTransitionTime: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/ }
  t.ok(conditions().length > 3)
  for (const one of conditions())
    t.match(one, { type: String, status: /^(True|False)$/, ...times }, 'each has its times')
  const before = {
    ready: condition('Ready')?.lastTransitionTime,
    containers: condition('ContainersReady')?.lastTransitionTime,
  }
  await clock.advance(5_000)

  const say = async (status: string): Promise<void> => {
    const others = (api.object<Pod>('pods', 'p')?.status?.conditions ?? []).filter(({ type }) => type !== gate)
    const conditions = [...others, { type: gate, status }]
    await api.client.patch(pods, ref, { status: { conditions } }, { subresource: 'status' })
  }
  const saidMs = clock.monotonic()
  await say('True')
  await clock.advanceUntil(() => condition('Ready')?.status === 'True')
  t.ok(clock.monotonic() - saidMs < 1_000, 'at once')
  t.not(condition('Ready')?.lastTransitionTime, before.ready, 'lastTransitionTime moves with the status')
  t.equal(condition('ContainersReady')?.lastTransitionTime, before.containers, 'and only with it')
  await say('False')
  await clock.advanceUntil(() => condition('Ready')?.status === 'False')
  t.match(condition('Ready'), { reason: 'ReadinessGatesNotReady' }, 'a gate that is False makes the pod unready')
  t.match(condition('ContainersReady'), { status: 'True' }, 'ContainersReady stays True')
})
