/** A kubelet on a machine without processes, an API server in memory, and a clock that is moved by hand. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Test } from 'tap'
import { type Kubelet, startKubelet } from '../../kubelet/kubelet.ts'
import type { KubeletOptions } from '../../kubelet/kubelet-options.ts'
import type { ContainerConfig } from '../../kubelet/runtime/container-runtime.ts'
import { type Behaviour, createSimulatedRuntime } from '../../kubelet/runtime/simulated.ts'
import type { Event, Node, Pod } from '../../shared/api/types.ts'
import { createVirtualClock } from '../../shared/clock/virtual-clock.ts'
import { createMemoryApi } from './memory-api.ts'

const PODS = { group: '', version: 'v1', plural: 'pods' }

export function machine(
  t: Test,
  behaviour: Behaviour | ((container: ContainerConfig) => Behaviour) = {},
  options: Partial<KubeletOptions> = {},
) {
  const rootDir = mkdtempSync(path.join(tmpdir(), 'kubestage-machine-'))
  t.teardown(() => rmSync(rootDir, { recursive: true, force: true }))
  const clock = createVirtualClock()
  const api = createMemoryApi(clock)
  const signals: string[] = []
  const events: string[] = []
  const hooks: (string | undefined)[] = []
  api.onWrite(({ plural, object }) => {
    if (plural === 'events') events.push((object as unknown as Event).reason ?? '')
  })
  const runtime = createSimulatedRuntime({
    clock,
    nodeIP: options.nodeIP,
    behaviour: typeof behaviour === 'function' ? behaviour : () => behaviour,
    onSignal: (_, signal) => signals.push(signal),
  })
  const begin = (): Promise<Kubelet> =>
    startKubelet({
      client: api.client,
      clock,
      runtime,
      rootDir,
      actions: {
        async run(_action, _target, { env, purpose }) {
          if (purpose === 'hook') hooks.push(env?.KUBE_POD_TERM_REASON)
          return { outcome: 'success', output: '', message: '' }
        },
      },
      log: { info() {}, warn() {}, error() {} },
      nodeName: 'n1',
      nodeIP: '127.0.0.1',
      port: 0,
      ...options,
    })
  const start = async (): Promise<Kubelet> => {
    const kubelet = await begin()
    await clock.advance(10)
    await kubelet.ready
    return kubelet
  }
  const create = (name = 'p', spec: Partial<Pod['spec']> = {}) =>
    api.client.create<Pod>(
      PODS,
      {
        metadata: { name },
        spec: {
          nodeName: 'n1',
          restartPolicy: 'Always',
          terminationGracePeriodSeconds: 8,
          containers: [{ name: 'c', image: 'x', readinessProbe: { exec: { command: ['true'] }, periodSeconds: 60 } }],
          ...spec,
        },
        status: { phase: 'Pending', qosClass: 'BestEffort' },
      },
      { namespace: 'default' },
    )
  const pod = (name = 'p') => api.object<Pod>('pods', name)
  const container = (name = 'p') => pod(name)?.status?.containerStatuses?.[0]
  const nodeCondition = (type: string) =>
    api.object<Node>('nodes', 'n1')?.status?.conditions?.find((condition) => condition.type === type)
  return {
    clock,
    api,
    client: api.client,
    delete: api.deletePod,
    runtime,
    signals,
    events,
    hooks,
    begin,
    start,
    create,
    pod,
    container,
    nodeCondition,
  }
}
