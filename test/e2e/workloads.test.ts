/** Workloads as a user has them: rolled out, rolled back, scaled, drained, with every pod told why it goes. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import type { Termination } from '../../shared/api/termination.ts'
import type { Event, Pod, PodDisruptionBudget, Service } from '../../shared/api/types.ts'
import type { DaemonSet, Deployment, EndpointSlice, ReplicaSet } from '../../shared/api/workloads/workloads.ts'
import {
  daemonSets,
  deployments,
  endpointSlices,
  events,
  podDisruptionBudgets,
  pods,
  replicaSets,
  services,
  terminations,
} from '../../shared/client/resources.ts'
import { startTestCluster } from '../harness/cluster.ts'
import { findKubectls, kubectl, kubectlSays } from '../harness/kubectl.ts'
import { isReady, politeScript } from '../harness/pods.ts'
import { until } from '../harness/until.ts'

t.setTimeout(360_000)
const namespace = 'default'
const cluster = await startTestCluster(t)
const { client, kubeconfig } = cluster
const folder = mkdtempSync(join(tmpdir(), 'kubestage-workloads-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))
const newest = findKubectls().at(-1)
const skip = !newest && 'no kubectl here'

const run = (...args: string[]): Promise<string> => kubectlSays(t, newest!, kubeconfig, args)
const rolledOut = (name: string): Promise<string> => run('rollout', 'status', `deployment/${name}`, '--timeout=90s')

/** Pods that leave a file when they go: its name is theirs, its text the reason. */
const create = (name: string, spec: Partial<Deployment['spec']> = {}): Promise<Deployment> => {
  const labels = { app: name }
  const command = ['sh', '-c', `echo "$KUBE_POD_TERM_REASON" > ${folder}/$HOSTNAME`]
  return client.create<Deployment>(deployments, {
    metadata: { namespace, name },
    spec: {
      replicas: 2,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          terminationGracePeriodSeconds: 5,
          volumes: [{ name: 'host', hostPath: { path: folder } }],
          containers: [
            {
              name: 'main',
              image: 'busybox:1.37',
              command: ['sh', '-c', politeScript],
              lifecycle: { preStop: { exec: { command } } },
              volumeMounts: [{ name: 'host', mountPath: folder }],
            },
          ],
        },
      },
      ...spec,
    },
  })
}
const podsOf = async (app: string) => (await client.list<Pod>(pods, { namespace, labelSelector: `app=${app}` })).items
const setsOf = async (app: string) =>
  (await client.list<ReplicaSet>(replicaSets, { namespace, labelSelector: `app=${app}` })).items
/** Of pods that are gone, what they were told. */
const told = (app: string): string[] =>
  readdirSync(folder)
    .filter((file) => file.startsWith(`${app}-`))
    .map((file) => readFileSync(join(folder, file), 'utf8').trim())
    .filter(Boolean)
const messages = async (reason: string, about: string) =>
  (await client.list<Event>(events, { namespace, fieldSelector: `reason=${reason}` })).items
    .filter(({ involvedObject }) => involvedObject.name === about)
    .map(({ message }) => message)

t.test('rolled out, changed, rolled back', { skip }, async (t) => {
  await create('web')
  t.match(await rolledOut('web'), /successfully rolled out/)
  const [first] = await setsOf('web')
  const hash = first?.metadata.labels?.['pod-template-hash'] ?? ''
  t.equal(first?.metadata.name, `web-${hash}`)
  t.equal((await podsOf('web')).filter(isReady).length, 2)

  await run('set', 'env', 'deployment/web', 'STEP=2')
  await rolledOut('web')
  const [second] = (await setsOf('web')).filter(({ spec }) => spec.replicas)
  t.not(second?.metadata.name, first?.metadata.name)
  await until(() => told('web').length === 2, { what: 'both old pods to be told' })
  t.same(told('web'), ['Update', 'Update'], 'a rollout tells Update')
  t.match(await run('rollout', 'history', 'deployment/web'), /\n1 +<none>\n2 +<none>\n/)

  await run('rollout', 'undo', 'deployment/web')
  await rolledOut('web')
  const [active] = (await setsOf('web')).filter(({ spec }) => spec.replicas)
  t.equal(active?.metadata.name, first?.metadata.name, 'the first set again')
  t.match(active?.metadata.annotations, {
    'deployment.kubernetes.io/revision': '3',
    'deployment.kubernetes.io/revision-history': '1',
  })
  const there = [
    `Scaled up replica set ${first?.metadata.name} from 0 to 2`,
    `Scaled up replica set ${second?.metadata.name} from 0 to 1`,
    `Scaled down replica set ${first?.metadata.name} from 2 to 1`,
    `Scaled up replica set ${second?.metadata.name} from 1 to 2`,
    `Scaled down replica set ${first?.metadata.name} from 1 to 0`,
  ]
  const scalings = await until(
    async () => {
      const all = await messages('ScalingReplicaSet', 'web')
      return all.length >= there.length + 4 ? all : undefined
    },
    { what: 'the events of the way there and back, which are told beside the deeds' },
  )
  t.same(scalings.slice(0, there.length), there)
  await run('rollout', 'restart', 'deployment/web')
  await rolledOut('web')
  t.equal((await setsOf('web')).length, 3)
})

t.test('scaled: those that go are told so', { skip }, async (t) => {
  await create('sized', { replicas: 3 })
  await rolledOut('sized')
  await run('scale', 'deployment/sized', '--replicas=1')
  await until(() => told('sized').length === 2, { what: 'two pods to be told' })
  t.same(told('sized'), ['Decommissioned', 'Decommissioned'], 'scaling down tells Decommissioned')
  await until(async () => (await podsOf('sized')).length === 1, { what: 'one to be left' })
  await run('delete', 'deployment', 'sized')
  await until(async () => (await podsOf('sized')).length === 0, { what: 'everything to go with the deployment' })
})

t.test('recreated: no new pod before the last old one is gone', { skip }, async (t) => {
  await create('one', { strategy: { type: 'Recreate' } })
  await rolledOut('one')
  const old = (await podsOf('one')).map(({ metadata }) => metadata.uid)
  const ended = new Set<string | undefined>()
  let endedBefore: number | undefined
  const watching = new AbortController()
  const { metadata } = await client.list<Pod>(pods, { namespace, labelSelector: 'app=one' })
  const watch = (async () => {
    const query = { namespace, labelSelector: 'app=one', resourceVersion: metadata.resourceVersion }
    for await (const { type, object } of client.watch<Pod>(pods, { ...query, signal: watching.signal })) {
      if (!old.includes(object.metadata.uid)) endedBefore ??= ended.size
      else if (type === 'DELETED' || object.status?.phase === 'Succeeded') ended.add(object.metadata.uid)
    }
  })()
  await run('set', 'env', 'deployment/one', 'STEP=2')
  await rolledOut('one')
  await until(() => endedBefore !== undefined, { what: 'a new pod to be seen' })
  watching.abort()
  await watch
  t.equal(endedBefore, 2)
})

t.test('paused, and stuck', { skip }, async (t) => {
  await create('slow', { replicas: 1 })
  await rolledOut('slow')
  // Not before: its first pod may well need longer than that.
  await run('patch', 'deployment', 'slow', '--patch={"spec":{"progressDeadlineSeconds":1}}')
  await run('rollout', 'pause', 'deployment/slow')
  const command = [{ name: 'main', command: ['/no/such/program'] }]
  const change = { spec: { template: { spec: { containers: command } } } }
  await run('patch', 'deployment', 'slow', `--patch=${JSON.stringify(change)}`)
  const conditionOf = async (type: string) => {
    const { status } = await client.get<Deployment>(deployments, { namespace, name: 'slow' })
    return status?.conditions?.find((one) => one.type === type)
  }
  await until(async () => (await conditionOf('Progressing'))?.reason === 'DeploymentPaused', { what: 'the pause' })
  t.equal((await setsOf('slow')).length, 1, 'nothing moves')
  await run('rollout', 'resume', 'deployment/slow')
  await until(async () => (await conditionOf('Progressing'))?.reason === 'ProgressDeadlineExceeded', {
    what: 'the deadline',
  })
  const { code, stderr } = await kubectl(t, newest!, kubeconfig, ['rollout', 'status', 'deployment/slow'])
  t.equal(code, 1)
  t.match(stderr, /exceeded its progress deadline/)
  t.equal((await conditionOf('Available'))?.status, 'True', 'the old pod is still there')
})

t.test('a drain: evicted as the budget allows, and replaced', { skip }, async (t) => {
  await create('guarded')
  await rolledOut('guarded')
  const selector = { matchLabels: { app: 'guarded' } }
  await client.create<PodDisruptionBudget>(podDisruptionBudgets, {
    metadata: { namespace, name: 'guarded' },
    spec: { maxUnavailable: 1, selector },
  })
  const [first] = await podsOf('guarded')
  const path = `/api/v1/namespaces/${namespace}/pods/${first?.metadata.name}/eviction`
  const eviction = JSON.stringify({
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { name: first?.metadata.name, namespace },
  })
  await until(
    async () => {
      const { status } = await client.get<PodDisruptionBudget>(podDisruptionBudgets, { namespace, name: 'guarded' })
      return status?.disruptionsAllowed === 1 && status.expectedPods === 2
    },
    { what: 'the budget to count the deployment' },
  )
  const { code } = await kubectl(t, newest!, kubeconfig, ['create', '--raw', path, '-f', '-'], eviction)
  t.equal(code, 0)
  await until(() => told('guarded').length === 1, { what: 'the pod to be told' })
  t.same(told('guarded'), ['Eviction'])
  await until(
    async () => {
      const { status } = await client.get<PodDisruptionBudget>(podDisruptionBudgets, { namespace, name: 'guarded' })
      return status?.disruptionsAllowed === 1 && (await podsOf('guarded')).length === 2
    },
    { what: 'another in its place' },
  )
  t.equal((await podsOf('guarded')).length, 2, 'another pod takes the place of the evicted one')
})

t.test('a pod that goes leaves its service first', { skip }, async (t) => {
  await create('served', { replicas: 1 })
  await client.create<Service>(services, {
    metadata: { namespace, name: 'served' },
    spec: { selector: { app: 'served' }, ports: [{ port: 80, targetPort: 8080 }] },
  })
  await rolledOut('served')
  const conditionsOf = async (uid = '') => {
    const labelSelector = 'kubernetes.io/service-name=served'
    const { items } = await client.list<EndpointSlice>(endpointSlices, { namespace, labelSelector })
    return items.flatMap(({ endpoints }) => endpoints ?? []).find(({ targetRef }) => targetRef?.uid === uid)?.conditions
  }
  const [pod] = await podsOf('served')
  const { uid, name = '' } = pod?.metadata ?? {}
  await until(async () => (await conditionsOf(uid))?.ready, { what: 'the endpoint to be ready' })
  await run('rollout', 'restart', 'deployment/served')
  await rolledOut('served')
  const record = await until(
    async () => {
      const { items } = await client.list<Termination>(terminations, { namespace })
      return items.find(({ podUID, endTime }) => podUID === uid && endTime)
    },
    { what: `the record of ${name}` },
  )
  const [removed] = record.steps ?? []
  t.match(removed, { name: 'EndpointRemoved', message: /service served/ })
  const stopped = record.containers?.[0]?.steps.find((step) => step.name === 'SIGTERM')
  t.ok(removed && stopped && removed.startTime <= stopped.startTime, 'before it was asked to stop')
  await until(async () => (await conditionsOf(uid)) === undefined, { what: 'its endpoint to go' })
})

t.test('daemons: one on each node that is theirs, replaced in place', { skip }, async (t) => {
  const labels = { app: 'agent' }
  const { spec } = await create('agent-model', { replicas: 0 })
  const template = structuredClone(spec.template)
  template.metadata = { labels }
  template.spec!.nodeSelector = { agents: 'yes' }
  await client.create<DaemonSet>(daemonSets, {
    metadata: { namespace, name: 'agent' },
    spec: { selector: { matchLabels: labels }, template },
  })
  const scheduled = async () => (await client.get<DaemonSet>(daemonSets, { namespace, name: 'agent' })).status
  await until(async () => (await scheduled())?.observedGeneration, { what: 'the set to be looked at' })
  t.equal((await podsOf('agent')).length, 0, 'no node is theirs')
  await run('label', 'node', 'node-1', 'agents=yes')
  await run('rollout', 'status', 'daemonset/agent', '--timeout=90s')
  const [first] = await podsOf('agent')
  t.equal(first?.spec.nodeName, 'node-1')
  await run('set', 'env', 'daemonset/agent', 'STEP=2')
  await run('rollout', 'status', 'daemonset/agent', '--timeout=90s')
  t.same(told('agent'), ['Update'])
  t.match(await run('rollout', 'history', 'daemonset/agent'), /\n1 +<none>\n2 +<none>\n/)
  await run('rollout', 'undo', 'daemonset/agent')
  await until(
    async () => {
      const [pod] = await podsOf('agent')
      const hash = pod?.metadata.labels?.['controller-revision-hash']
      return pod && isReady(pod) && hash === first?.metadata.labels?.['controller-revision-hash']
    },
    { what: 'the first template again' },
  )
  await run('label', 'node', 'node-1', 'agents-')
  await until(async () => (await podsOf('agent')).length === 0, { what: 'the daemon to leave' })
  t.same(told('agent').sort(), ['Decommissioned', 'Update', 'Update'])
  await until(
    async () => {
      const { desiredNumberScheduled, currentNumberScheduled } = (await scheduled()) ?? {}
      return desiredNumberScheduled === 0 && currentNumberScheduled === 0
    },
    { what: 'nothing to be wanted' },
  )
})
