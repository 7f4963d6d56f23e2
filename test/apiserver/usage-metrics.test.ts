/** `metrics.k8s.io`: what is measured, what is set, and kubelets that answer with anything. */
import t from 'tap'
import { parseSummary } from '../../apiserver/http/usage/node-summary.ts'
import { podMetrics } from '../../apiserver/http/usage/pod-metrics.ts'
import { usageOf } from '../../apiserver/http/usage/usage-meter.ts'
import { parseSetUsage } from '../../shared/api/pods/set-usage.ts'
import type { KubeObject, Pod } from '../../shared/api/types.ts'
import { startTestApiServer } from '../harness/api-server.ts'

const startMs = Date.parse('2026-01-01T00:00:00Z')
const summaryAt = (cpuMs: number, memoryBytes = 2048) =>
  parseSummary({
    node: { startTime: '2026-01-01T00:00:00Z', cpu: { usageCoreNanoSeconds: 5e9 }, memory: { workingSetBytes: 1 } },
    pods: [
      {
        podRef: { uid: 'u' },
        containers: [
          {
            name: 'app',
            startTime: '2026-01-01T00:00:00Z',
            cpu: { usageCoreNanoSeconds: cpuMs * 1e6 },
            memory: { workingSetBytes: memoryBytes },
          },
        ],
      },
    ],
  })
const appOf = (usage: ReturnType<typeof usageOf>) => usage.pods.get('u')?.get('app')

t.test('the CPU of a container is an average between two readings', async (t) => {
  const base = { summary: summaryAt(1_000), atMs: startMs + 10_000 }
  const later = { summary: summaryAt(3_000), atMs: startMs + 14_000 }
  t.same(appOf(usageOf(later, base)), { cpuNanoCores: 5e8, memoryBytes: 2048, windowMs: 4_000 })
  const restarted = { summary: summaryAt(700), atMs: startMs + 14_000 }
  t.same(appOf(usageOf(restarted, base)), { cpuNanoCores: 5e7, memoryBytes: 2048, windowMs: 14_000 }, 'since its start')
  const before = { summary: parseSummary({}), atMs: startMs }
  t.equal(appOf(usageOf(base, before))?.windowMs, 10_000, 'a container that is newer than the earlier reading')
})

t.test('a kubelet may answer with anything', async (t) => {
  for (const answer of [null, 7, 'no', [], { pods: 7 }, { pods: [null, { containers: {} }] }, { node: { cpu: [] } }]) {
    t.equal(parseSummary(answer).node, undefined, JSON.stringify(answer))
  }
  const strange = { name: {}, cpu: { usageCoreNanoSeconds: '7' }, memory: { workingSetBytes: 1 } }
  t.same([...parseSummary({ pods: [{ containers: [strange] }] }).pods.values()], [new Map()])
})

t.test('what is set stands for what is measured', async (t) => {
  const pod = (annotations?: Record<string, string>) =>
    ({
      metadata: { name: 'web', namespace: 'default', annotations },
      spec: { containers: [{ name: 'app' }, { name: 'log' }] },
    }) as unknown as Pod
  const used = { cpuNanoCores: 1_000, memoryBytes: 4096, windowMs: 15_000 }
  const measured = new Map([
    ['app', used],
    ['log', used],
  ])
  const metricsOf = (one: Pod, owners: Parameters<typeof podMetrics>[0]['owners'] = []) =>
    podMetrics({ pod: one, measured, owners, nowMs: startMs })
  t.match(metricsOf(pod()), {
    metadata: { name: 'web', namespace: 'default' },
    timestamp: '2026-01-01T00:00:00Z',
    window: '15s',
    containers: [{ name: 'app', usage: { cpu: '1000n', memory: '4Ki' } }, { name: 'log' }],
  })
  t.match(metricsOf(pod({ 'kubestage.dev/usage': 'cpu=500m' })), {
    window: '1s',
    containers: [
      { name: 'app', usage: { cpu: '500000000n', memory: '4Ki' } },
      { name: 'log', usage: { cpu: '0n', memory: '4Ki' } },
    ],
  })
  const owner = (annotations: Record<string, string>) => ({ metadata: { annotations }, runningPods: 4 })
  const shared = metricsOf(pod(), [owner({}), owner({ 'kubestage.dev/load': 'cpu=2,memory=4Gi' })])
  t.match(shared?.containers[0]?.usage, { cpu: '500000000n', memory: '1048576Ki' }, 'an equal share')
  const nearest = metricsOf(pod({ 'kubestage.dev/usage': 'cpu=1' }), [owner({ 'kubestage.dev/load': 'cpu=2' })])
  t.equal(nearest?.containers[0]?.usage.cpu, '1000000000n', "the pod's own setting")
  t.equal(podMetrics({ pod: pod(), measured: undefined, owners: [], nowMs: 0 }), undefined, 'nothing is known')
})

t.test('settings are quantities', async (t) => {
  t.same(parseSetUsage('cpu=500m,memory=1Gi'), { cpu: '500m', memory: '1Gi' })
  t.same(parseSetUsage('cpu=-1,memory=lots,disk=7,,='), {})
  t.same(parseSetUsage(undefined), {})
})

t.test('the API', async (t) => {
  const { send } = await startTestApiServer(t)
  const root = '/apis/metrics.k8s.io/v1beta1'
  const pod = {
    metadata: { name: 'web', labels: { app: 'web' }, annotations: { 'kubestage.dev/usage': 'cpu=1,memory=1Mi' } },
    spec: { containers: [{ name: 'app', image: 'app' }] },
  }
  await send('/api/v1/namespaces/default/pods', { method: 'POST', body: pod as unknown as KubeObject })
  const list = async (query = '') => (await send(`${root}/namespaces/default/pods${query}`)).body
  t.match(await list(), { kind: 'PodMetricsList', apiVersion: 'metrics.k8s.io/v1beta1', items: [] }, 'it does not run')
  const status = { status: { phase: 'Running' } }
  const patch = { method: 'PATCH', body: status, headers: { 'content-type': 'application/merge-patch+json' } }
  await send('/api/v1/namespaces/default/pods/web/status', patch)
  t.match(await list(), { items: [{ metadata: { name: 'web', labels: { app: 'web' } } }] })
  t.match(await list('?labelSelector=app%3Dother'), { items: [] })
  t.match((await send(`${root}/namespaces/default/pods/web`)).body, {
    kind: 'PodMetrics',
    containers: [{ name: 'app' }],
  })
  t.match((await send(`${root}/namespaces/default/pods/none`)).body, {
    code: 404,
    message: 'pods.metrics.k8s.io "default/none" not found',
  })
  t.match((await send(`${root}/nodes`)).body, { kind: 'NodeMetricsList', items: [] })
  t.equal((await send(`${root}/namespaces/default/pods`, { method: 'POST', body: {} })).status, 405)
  t.match((await send(root)).body, {
    resources: [
      { name: 'nodes', kind: 'NodeMetrics', verbs: ['get', 'list'] },
      { name: 'pods', kind: 'PodMetrics', namespaced: true },
    ],
  })
})
