/** Requests of hooks and probes to a server that never answers: none outlives its pod. */
import net, { type AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import type { ActionHandler } from '../../kubelet/actions/action.ts'
import { createActions } from '../../kubelet/actions/actions.ts'
import { createHookRunner } from '../../kubelet/actions/hook-runner.ts'
import { Prober } from '../../kubelet/prober/prober.ts'
import type { Pod, Probe } from '../../shared/api/types.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { until } from '../harness/until.ts'
import { configOf, sandboxOf, startNode } from './runtime/runtime-node.ts'

const actions = createActions(realClock)

/** Accepts, reads, and says nothing. */
async function silentServer(t: Test) {
  const sockets = new Set<net.Socket>()
  const server = net.createServer((socket) => {
    sockets.add(socket.resume())
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  t.teardown(() => server.close())
  return { port: (server.address() as AddressInfo).port, sockets }
}

t.test('a request of a hook ends after its container', async (t) => {
  const node = await startNode(t)
  const { runtime } = node
  const { port, sockets } = await silentServer(t)
  const hooks = createHookRunner(runtime, actions, realClock)
  const container = { name: 'c', image: 'busybox' }
  const pod: Pod = { metadata: { name: 'p', namespace: 'ns', uid: 'u' }, spec: { containers: [container] } }
  const sandbox = await sandboxOf(runtime, 'u')
  const record = await runtime.startContainer(configOf(node, sandbox, ['sleep', '1000']))
  const run = () => {
    const handler = { httpGet: { host: '127.0.0.1', port } }
    return hooks.run({ pod, container, record, podIP: '127.0.0.1', handler })
  }
  const results = Array.from({ length: 30 }, run)
  await until(() => sockets.size === 30, { what: 'the requests' })
  await runtime.stopContainer(record.id, { signal: 'TERM', gracePeriodMs: 0 })
  for (const result of await Promise.all([...results, run()]))
    t.match(result, { outcome: 'failure', message: /: context canceled$/ })
  await until(() => sockets.size === 0, { what: 'the connections to be closed' })
})

t.test('a probe of a pod that is gone has no result and no event', async (t) => {
  const { port, sockets } = await silentServer(t)
  const kinds: Partial<Probe>[] = [{ httpGet: { host: '127.0.0.1', port } }, { grpc: { port } }]
  const containers = kinds.map((kind, index) => ({
    name: `c${index}`,
    readinessProbe: { ...kind, timeoutSeconds: 3600, periodSeconds: 1 },
  }))
  const pod: Pod = { metadata: { name: 'p', namespace: 'ns', uid: 'u' }, spec: { containers } }
  const results: unknown[] = []
  const counted: ActionHandler = {
    async run(...of) {
      const result = await actions.run(...of)
      results.push(result)
      return result
    },
  }
  const prober = new Prober({
    runtime: {} as never,
    clock: realClock,
    events: { podEvent: () => t.fail('an event'), event: () => t.fail('an event') } as never,
    actions: counted,
    status: () => ({
      phase: 'Running',
      podIP: '127.0.0.1',
      containerStatuses: containers.map(({ name }) => ({
        name,
        containerID: `containerd://${name}`,
        started: true,
        ready: false,
        restartCount: 0,
        image: '',
        imageID: '',
        state: { running: { startedAt: '2000-01-01T00:00:00Z' } },
      })),
    }),
    isEnding: () => false,
    onChange: () => {},
  })
  prober.add(pod)
  await until(() => sockets.size === kinds.length, { what: 'the probes' })
  prober.remove('u')
  await until(() => results.length === kinds.length && sockets.size === 0, { what: 'the connections to be closed' })
  for (const result of results) t.match(result, { outcome: 'failure', message: /context canceled$/ })
})
