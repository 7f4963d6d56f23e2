/** KEP-2238's rollback: one pod and its field, and kubelets with the gate off, on, off and on again. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t from 'tap'
import { createActions } from '../../kubelet/actions/actions.ts'
import { startKubelet } from '../../kubelet/kubelet.ts'
import { createSimulatedRuntime } from '../../kubelet/runtime/simulated.ts'
import type { Pod } from '../../shared/api/types.ts'
import { pods } from '../../shared/client/resources.ts'
import { createVirtualClock } from '../../shared/clock/virtual-clock.ts'
import { createMemoryApi } from './memory-api.ts'

t.test('the gate, off and on and off and on', async (t) => {
  const rootDir = mkdtempSync(path.join(tmpdir(), 'kubestage-gate-'))
  t.teardown(() => rmSync(rootDir, { recursive: true, force: true }))
  const clock = createVirtualClock()
  const api = createMemoryApi(clock)
  const signals: { name: string; atMs: number }[] = []
  const runtime = createSimulatedRuntime({
    clock,
    behaviour: () => ({ onTerm: 'ignore' }),
    exec: () => ({ exitCode: 1 }),
    onSignal: (_, name) => signals.push({ name, atMs: clock.monotonic() }),
  })
  const livenessProbe = { exec: { command: ['check'] }, periodSeconds: 5, failureThreshold: 1 }
  const pod: Pod = {
    metadata: { name: 'p' },
    spec: {
      nodeName: 'n1',
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 3600,
      containers: [{ name: 'c', image: 'i', livenessProbe: { ...livenessProbe, terminationGracePeriodSeconds: 60 } }],
    },
    status: { phase: 'Pending' },
  }

  async function whileTimePasses(work: Promise<unknown>): Promise<void> {
    let isDone = false
    work.finally(() => {
      isDone = true
    })
    await clock.advanceUntil(() => isDone)
  }

  /** Seconds between TERM and KILL of the next failure under a kubelet of its own. */
  async function graceWith(ProbeTerminationGracePeriod: boolean): Promise<number> {
    signals.length = 0
    const log = { info() {}, warn() {}, error() {} }
    const kubelet = await startKubelet({
      client: api.client,
      clock,
      log,
      runtime,
      actions: createActions(clock),
      rootDir,
      nodeName: 'n1',
      nodeIP: '127.0.0.1',
      port: 0,
      featureGates: { ProbeTerminationGracePeriod },
      random: () => 0,
    })
    await whileTimePasses(kubelet.ready)
    if (!api.object('pods', 'p')) await api.client.create<Pod>(pods, pod, { namespace: 'default' })
    await clock.advanceUntil(() => signals.some(({ name }) => name === 'KILL'))
    await whileTimePasses(kubelet.close())
    const [term, kill] = signals
    return ((kill?.atMs ?? 0) - (term?.atMs ?? 0)) / 1000
  }

  t.equal(await graceWith(false), 3600, 'off: ignored, although it is there')
  t.equal(await graceWith(true), 60, 'on: used')
  t.equal(await graceWith(false), 3600, 'off again: ignored again')
  t.equal(await graceWith(true), 60, 'on again: used again')
  const kept = api.object<Pod>('pods', 'p')?.spec.containers[0]?.livenessProbe
  t.equal(kept?.terminationGracePeriodSeconds, 60, 'and the object has kept it all the time')
})
