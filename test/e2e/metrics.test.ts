/** What a node measures, read as Prometheus, a metrics server and kubectl read it. */
import { readFileSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import type { Node, Pod } from '../../shared/api/types.ts'
import { nodes, pods, serviceAccounts } from '../../shared/client/resources.ts'
import { repository, startCommand, startTestCluster } from '../harness/cluster.ts'
import { findKubectls, kubectlSays } from '../harness/kubectl.ts'
import { parseMetrics } from '../harness/metrics.ts'
import { followPod, getText, isReady, podOf, politeScript, untilHandled } from '../harness/pods.ts'
import { skipOrFail } from '../harness/skip.ts'
import { until } from '../harness/until.ts'

const cluster = await startTestCluster(t)
const { client, kubeconfig } = cluster
const namespace = 'default'
const proxied = '/api/v1/nodes/node-1/proxy'
const scrape = async (page = '/metrics') => parseMetrics(await getText(cluster, `${proxied}${page}`))

async function run(pod: Pod) {
  await client.create<Pod>(pods, pod, { namespace })
  const followed = await followPod(client, { namespace, name: pod.metadata.name ?? '' })
  await untilHandled(await followed.until(isReady, 'to be ready'))
  return followed
}

t.test('what runs, what was probed, and how it ended', async (t) => {
  const probe = { exec: { command: ['true'] }, periodSeconds: 1 }
  const command = ['sh', '-c', politeScript]
  const web = podOf({ name: 'web', command, readinessProbe: probe })
  web.spec.containers[0]!.livenessProbe = { ...probe, terminationGracePeriodSeconds: 7 }
  const followed = await run(web)
  const { uid = '' } = (await client.get<Pod>(pods, { namespace, name: 'web' })).metadata

  const running = await scrape()
  t.equal(running.value('kubelet_running_pods'), 1)
  t.equal(running.value('kubelet_running_containers', { container_state: 'running' }), 1)
  t.equal(running.value('kubelet_node_name', { node: 'node-1' }), 1)
  t.equal(running.value('kubelet_desired_pods', { static: '' }), 1)
  t.equal(running.value('kubelet_active_pods', { static: '' }), 1)
  t.equal(running.value('kubernetes_feature_enabled', { name: 'PodTerminationReason', stage: 'BETA' }), 1)
  const inUse = running.value('kubestage_containers_with_probe_grace_period', { probe_type: 'Liveness' })
  t.equal(inUse, 1, 'containers that set the field are counted')
  const gate = running.value('kubernetes_feature_enabled', { name: 'ProbeTerminationGracePeriod' })
  t.equal(gate, 1, 'the gate of probes is on')
  t.ok(running.value('kubelet_pod_worker_duration_seconds_count', { operation_type: 'create' })! > 0)
  t.equal(
    running.help('kubelet_evictions') ?? running.help('kubelet_running_pods'),
    '[ALPHA] Number of pods that have a running pod sandbox',
    'no eviction, no family; the text has its stability in front',
  )

  const readiness = { probe_type: 'Readiness', container: 'main', pod: 'web', namespace, pod_uid: uid }
  await until(
    async () =>
      ((await scrape('/metrics/probes')).value('prober_probe_total', { ...readiness, result: 'successful' }) ?? 0) > 1,
    { what: 'probes to be counted' },
  )
  await client.delete(pods, { namespace, name: 'web' }, { gracePeriodSeconds: 20, reason: 'Update' } as never)
  await followed.untilDeleted()
  const labels = { reason: 'Update', cause: 'PodDeleted', verdict: 'Stopped' }
  const ended = await until(
    async () => {
      const now = await scrape()
      return now.value('kubestage_terminations_total', labels) === 1 ? now : undefined
    },
    { what: 'the termination to be counted' },
  )
  t.equal(ended.value('kubestage_terminations_total', labels), 1, 'the reason is counted')
  t.equal(ended.value('kubestage_termination_grace_period_seconds_sum', { cause: 'PodDeleted' }), 20)
  t.ok(ended.value('kubestage_termination_duration_seconds_sum', { cause: 'PodDeleted' })! < 20)
  t.equal(ended.value('kubelet_running_pods'), 0)
  t.equal(
    (await scrape('/metrics/probes')).value('prober_probe_total', { ...readiness, result: 'successful' }),
    undefined,
  )
})

t.test('a probe that kills with a grace of its own', async (t) => {
  const unwell = podOf({ name: 'unwell', command: ['sh', '-c', politeScript] })
  unwell.spec.containers[0]!.livenessProbe = {
    exec: { command: ['false'] },
    initialDelaySeconds: 1,
    periodSeconds: 1,
    failureThreshold: 1,
    terminationGracePeriodSeconds: 5,
  }
  await client.create<Pod>(pods, unwell, { namespace })
  await until(
    async () =>
      ((await scrape()).value('kubestage_probe_kills_total', { probe_type: 'Liveness', own_grace: 'true' }) ?? 0) > 0,
    { what: 'the kill to be counted' },
  )
  t.pass('counted')
})

t.test('CPU and memory are those of the processes, and only grow as they do', async (t) => {
  const spins = 'trap "exit 0" TERM; while :; do :; done'
  await run(podOf({ name: 'busy', command: ['sh', '-c', spins] }))
  const of = { namespace, pod: 'busy' }
  const cpu = async (): Promise<number> =>
    (await scrape('/metrics/resource')).value('container_cpu_usage_seconds_total', { ...of, container: 'main' }) ?? 0
  const before = await cpu()
  await until(async () => (await cpu()) > before + 0.2, { what: 'the loop to use processor time' })
  const page = await scrape('/metrics/resource')
  t.equal(page.value('resource_scrape_error'), 0)
  t.ok(page.value('container_memory_working_set_bytes', { ...of, container: 'main' })! > 10_000)
  t.ok(page.value('pod_cpu_usage_seconds_total', of)! >= before)
  t.ok(page.value('pod_memory_working_set_bytes', of)! > 10_000)
  t.ok(page.value('node_cpu_usage_seconds_total')! > 0)
  t.ok(page.value('node_memory_working_set_bytes')! > 1e6)
  const started = page.value('container_start_time_seconds', { ...of, container: 'main' })!
  t.ok(Math.abs(started - Date.now() / 1000) < 120)
  t.equal(
    page.help('container_cpu_usage_seconds_total'),
    '[STABLE] Cumulative cpu time consumed by the container in core-seconds',
  )
  const cadvisor = await scrape('/metrics/cadvisor')
  t.ok(cadvisor.value('container_cpu_usage_seconds_total', { ...of, container: 'main', cpu: 'total' })! >= before)
  t.ok(cadvisor.value('machine_cpu_cores')! >= 1)

  const summary = JSON.parse(await getText(cluster, `${proxied}/stats/summary`)) as {
    node: { nodeName: string; cpu: { usageCoreNanoSeconds: number } }
    pods: { podRef: { name: string }; containers: { name: string; cpu: { usageCoreNanoSeconds: number } }[] }[]
  }
  t.equal(summary.node.nodeName, 'node-1')
  const busy = summary.pods.find(({ podRef }) => podRef.name === 'busy')
  t.ok(busy!.containers[0]!.cpu.usageCoreNanoSeconds >= before * 1e9)
})

t.test('access as upstream: by nodes/metrics, with a token', async (t) => {
  const { status } = await client.get<Node>(nodes, { name: 'node-1' })
  const port = status?.daemonEndpoints?.kubeletEndpoint?.Port
  const host = status?.addresses?.find(({ type }) => type === 'InternalIP')?.address
  const ask = (path: string, token?: string) =>
    new Promise<{ code?: number; body: string }>((resolve, reject) => {
      const headers = token ? { authorization: `Bearer ${token}` } : {}
      request({ host, port, path, headers, rejectUnauthorized: false, agent: false }, (answer) =>
        text(answer).then((body) => resolve({ code: answer.statusCode, body }), reject),
      )
        .on('error', reject)
        .end()
    })
  const tokenOf = async (name: string): Promise<string> => {
    await client.create(serviceAccounts, { metadata: { name } }, { namespace })
    const spec = { expirationSeconds: 600 }
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec }
    const answer = await client.create<object>(serviceAccounts, body, { namespace, name, subresource: 'token' })
    return (answer as { status: { token: string } }).status.token
  }
  const roles = { group: 'rbac.authorization.k8s.io', version: 'v1', plural: 'clusterroles' }
  const rules = [{ apiGroups: [''], resources: ['nodes/metrics'], verbs: ['get'] }]
  await client.create(roles, { metadata: { name: 'scraper' }, rules })
  await client.create(
    { ...roles, plural: 'clusterrolebindings' },
    {
      metadata: { name: 'scraper' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'scraper' },
      subjects: [{ kind: 'ServiceAccount', name: 'scraper', namespace }],
    },
  )
  const [scraper, stranger] = [await tokenOf('scraper'), await tokenOf('stranger')]
  t.match(await ask('/metrics', scraper), { code: 200, body: 'kubelet_running_pods' })
  t.match(await ask('/metrics/resource', scraper), { code: 200, body: 'container_cpu_usage_seconds_total' })
  t.match(await ask('/metrics', stranger), {
    code: 403,
    body: 'Forbidden (user=system:serviceaccount:default:stranger, verb=get, resource=nodes, subresource(s)=[metrics])',
  })
  t.match(await ask('/pods', scraper), { code: 403, body: 'subresource(s)=[pods proxy]' })
  t.match(await ask('/configz', scraper), { code: 403, body: 'subresource(s)=[configz proxy]' })
  t.match(await ask('/metrics', 'not-a-token'), { code: 401, body: 'Unauthorized' })
  t.match(await ask('/metrics'), { code: 401, body: 'Unauthorized' })
})

t.test('by kubectl, and the configuration', async (t) => {
  const [version] = findKubectls().slice(-1)
  if (!version) return skipOrFail(t, 'no kubectl on this machine')
  const raw = (path: string) => kubectlSays(t, version, kubeconfig, ['get', '--raw', path])
  t.match(await raw(`${proxied}/metrics`), /^# TYPE kubelet_running_pods gauge$/m)
  const { kubeletconfig } = JSON.parse(await raw(`${proxied}/configz`)) as { kubeletconfig: object }
  t.match(kubeletconfig, {
    kind: 'KubeletConfiguration',
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    maxPods: 110,
    evictionPressureTransitionPeriod: '5m0s',
    featureGates: { PodTerminationReason: true },
  })
  t.match(await raw('/metrics'), 'kubernetes_feature_enabled{name="PodTerminationReason",stage="BETA"} 1')

  const top = (...args: string[]) => kubectlSays(t, version, kubeconfig, ['top', ...args])
  t.match(await top('pod', 'busy'), /^busy +\d{2,}m +\d+Mi/m, 'it spins')
  t.match(await top('node'), /^node-1 +\d+m +\d+% +\d+Mi/m)
  const metrics = (...args: string[]) => startCommand(t, ['metrics', ...args, `--state-dir=${cluster.stateDir}`]).ended
  t.equal(await metrics('set', 'pod/busy', '--cpu=7', '--memory=1Gi'), 0)
  t.match(await top('pod', 'busy', '--containers'), /^busy +main +7000m +1024Mi/m)
  t.equal(await metrics('clear', 'pod/busy'), 0)
  t.notMatch(await top('pod', 'busy'), '7000m')
  t.equal(await metrics('set', 'pod/busy', '--cpu=much'), 2)
  t.equal(await metrics('set', 'service/busy', '--cpu=1'), 2)
  t.equal(await metrics('set', 'deployment/none', '--cpu=1'), 1)
})

t.test('an alert and a dashboard that read nothing that is not served', async (t) => {
  const probe = { exec: { command: ['true'] }, periodSeconds: 1 }
  await run(podOf({ name: 'victim', command: ['sh', '-c', politeScript], readinessProbe: probe }))
  const calm = await servedNames()
  await evictForMemory(t)
  const served = new Set([...calm, ...(await servedNames())])
  for (const file of ['rules.yaml', 'dashboard.json']) {
    const text = readFileSync(join(repository, 'examples', 'metrics', file), 'utf8')
    const read = new Set(
      [...text.matchAll(/\b(?:kubelet|kubestage|prober|pod|container|node)_[a-z_]+(?=[[{)]|$)/gm)].map(
        ([name]) => name,
      ),
    )
    t.ok(read.size > 0, file)
    for (const name of read)
      t.ok(served.has(name.replace(/_(bucket|sum|count)$/, '')) || isTold(name), `${file}: ${name}`)
  }
  const page = readFileSync(join(repository, 'docs', 'metrics.md'), 'utf8')
  for (const [, name = ''] of page.matchAll(/`((?:kubelet|kubestage|prober|kubernetes)_[a-z_]+[a-z])`/g))
    t.ok(served.has(name) || isTold(name), `docs/metrics.md: ${name}`)
})

/**
 * Nothing in this cluster makes room for a critical pod, is refused, or removes an image; test/kubelet/metrics.test.ts
 * has the first two.
 */
const isTold = (name: string): boolean =>
  ['kubelet_preemptions', 'kubelet_admission_rejections_total', 'kubelet_image_garbage_collected_total'].includes(name)

async function servedNames(): Promise<string[]> {
  const pages = await Promise.all(['', '/probes', '/resource', '/cadvisor'].map((page) => scrape(`/metrics${page}`)))
  return pages.flatMap(({ names }) => names)
}

/** Memory runs short until a pod is evicted for it. */
async function evictForMemory(t: Test): Promise<void> {
  const press = (...flags: string[]) =>
    startCommand(t, ['node', 'pressure', 'node-1', 'memory', `--state-dir=${cluster.stateDir}`, ...flags]).ended
  t.equal(await press(), 0)
  const evictions = async () => (await scrape()).value('kubelet_evictions', { eviction_signal: 'memory.available' })
  await until(async () => ((await evictions()) ?? 0) > 0, { what: 'an eviction to be counted' })
  t.ok(await evictions(), 'an eviction is counted by its signal')
  t.equal(await press('--off'), 0)
}
