/** `kubestage up --apiservers 2 --storage etcd`: several API servers on this machine, any of which may be killed. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import type { Termination } from '../../shared/api/termination.ts'
import type { ConfigMap, Pod } from '../../shared/api/types.ts'
import type { Deployment } from '../../shared/api/workloads/workloads.ts'
import { configMaps, deployments, pods, terminations } from '../../shared/client/resources.ts'
import { createRestClient, type ServerClient } from '../../shared/client/rest-client.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { cli, startTestCluster, type TestCluster } from '../harness/cluster.ts'
import { etcdPrograms, noEtcd } from '../harness/etcd.ts'
import { findKubectls, kubectlSays } from '../harness/kubectl.ts'
import { killIfThere, processesWith, serversOf } from '../harness/processes.ts'
import { startWitness } from '../harness/reasons.ts'
import { run } from '../harness/run.ts'
import { scratchFolder } from '../harness/scratch.ts'
import { skipOrFail } from '../harness/skip.ts'
import { until } from '../harness/until.ts'

const namespace = 'default'
/** The control loops of a killed server are led again so much later. */
const fast = [
  '--leader-elect-lease-duration=3s',
  '--leader-elect-renew-deadline=2s',
  '--leader-elect-retry-period=500ms',
]
const web = {
  metadata: { name: 'web', namespace },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: {
        terminationGracePeriodSeconds: 1,
        containers: [{ name: 'c', image: 'busybox', command: ['sleep', '600'] }],
      },
    },
  },
}

interface Told {
  pid: number
  ownUrl: string
  etcdPid: number
  otherServers: { url: string; pid?: number }[]
}
const told = (stateDir: string): Told => JSON.parse(readFileSync(join(stateDir, 'running.json'), 'utf8'))

t.test('two API servers on an etcd of their own', async (t) => {
  if (etcdPrograms().length === 0) return skipOrFail(t, noEtcd)
  const [version] = findKubectls()
  if (!version) return skipOrFail(t, 'no kubectl on this machine')
  const cluster = await startTestCluster(
    t,
    '--storage=etcd',
    '--apiservers=2',
    '--max-request-body-bytes=4000000',
    ...fast,
  )
  const { stateDir, access, process: command } = cluster
  const clientOf = (server: string): ServerClient => {
    const client = createRestClient({ ...access, server, clock: realClock, requestTimeoutMs: 20_000 })
    t.teardown(() => client.close())
    return client
  }
  const [first, second] = [clientOf(told(stateDir).ownUrl), clientOf(told(stateDir).otherServers[0]!.url)]
  const says = (...args: string[]) => kubectlSays(t, version, cluster.kubeconfig, args)

  await t.test('each has a context of its own, and settings are the same', async (t) => {
    t.match(command.output(), `${told(stateDir).otherServers[0]!.url} (context kubestage-2)`)
    await says('create', 'configmap', 'made', '--from-literal=by=first')
    t.equal(await says('--context=kubestage-2', 'get', 'configmap', 'made', '-o=jsonpath={.data.by}'), 'first')
    const large = { metadata: { name: 'large' }, data: { a: 'a'.repeat(900_000) } }
    await second.create<ConfigMap>(configMaps, large, { namespace })
    const status = await run(process.execPath, [cli, 'status', '--state-dir', stateDir])
    t.match(status?.output, /API server 2 +https:\/\/127\.0\.0\.1:\d+ \(process \d+\)\n/)
    const commandLine = readFileSync(`/proc/${told(stateDir).otherServers[0]!.pid}/cmdline`, 'latin1')
    t.match(commandLine, '--max-request-body-bytes=4000000')
  })

  const victims = [
    { name: 'the second', pid: () => told(stateDir).otherServers[0]?.pid, other: first },
    { name: 'the first', pid: () => told(stateDir).pid, other: second },
  ]
  await first.create<object>(deployments, web)
  for (const { name, pid, other } of victims) {
    await t.test(`${name} is killed while pods end and a Deployment rolls out`, async (t) => {
      const folder = scratchFolder(t, 'witness')
      const hook = await startWitness('witness', { client: other, folder })
      const generation = { metadata: { annotations: { round: name } } }
      await other.patch<Deployment>(deployments, { namespace, name: 'web' }, { spec: { template: generation } })
      const before = pid()!
      process.kill(before, 'SIGKILL')
      await other.delete(pods, { namespace, name: 'witness' }, { gracePeriodSeconds: 10, reason: 'Update' })
      const isGone = async () => !(await other.list<Pod>(pods, { namespace })).items.some(isWitness)
      await until(isGone, { what: 'the end of the witness' })
      t.equal(hook(), 'Update\n--reason=Update\n', 'its hook ran once, with the reason')
      await until(() => isRolledOut(other), { what: 'the rollout' })
      await until(() => pid() !== undefined && pid() !== before, { what: 'the next server in running.json' })
      const killed = name === 'the first' ? first : second
      await until(() => killed.version().catch(() => undefined), { what: 'an answer of the next server' })
      const query = { namespace, fieldSelector: 'podName=witness' }
      const records = async () => (await killed.list<Termination>(terminations, query)).items
      const record = await until(async () => (await records()).at(-1), { what: 'the record' })
      t.match(record.requests, [{ user: 'kubernetes-admin', reason: 'Update' }])
    })
  }

  await t.test('etcd went on all the time, and is taken over', async (t) => {
    t.equal(processesWith(join(stateDir, 'etcd', 'data')).length, 2, 'one etcd, and what ends it with the guardian')
    t.match(await second.get<ConfigMap>(configMaps, { namespace, name: 'made' }), { data: { by: 'first' } })
  })

  await t.test('down ends all of it', async (t) => {
    const down = await run(process.execPath, [cli, 'down', '--state-dir', stateDir])
    t.match(down, { code: 0, output: 'Stopped.' })
    await until(() => processesWith(stateDir).length === 0, { what: 'the end of all processes' })
  })
})

const isWitness = ({ metadata }: Pod): boolean => metadata.name === 'witness'

async function isRolledOut(client: ServerClient): Promise<boolean> {
  const { status, spec, metadata } = await client.get<Deployment>(deployments, { namespace, name: 'web' })
  const { observedGeneration, updatedReplicas, availableReplicas, replicas } = status ?? {}
  const wanted = spec.replicas
  return (
    observedGeneration === metadata.generation &&
    [updatedReplicas, availableReplicas, replicas].every((n) => n === wanted)
  )
}

t.test('a cluster ends only when none of its API servers can be kept up', async (t) => {
  if (etcdPrograms().length === 0) return skipOrFail(t, noEtcd)
  const cluster = await startTestCluster(t, '--storage=etcd', '--apiservers=2', '--nodes=0', ...fast)
  const { stateDir, access, process: command } = cluster
  const { ownUrl, otherServers } = told(stateDir)
  const first = createRestClient({ ...access, server: ownUrl, clock: realClock })
  const second = createRestClient({ ...access, server: otherServers[0]!.url, clock: realClock })
  t.teardown(() => Promise.all([first.close(), second.close()]))
  const firstAnswers = (): Promise<unknown> => until(() => first.version().catch(() => undefined), patient)

  await t.test('a first server that cannot start takes nothing from the second', async () => {
    await killFirst(cluster)
    const stranger = await until(() => listenAt(ownUrl), { what: 'the port', timeoutMs: 5_000 })
    await command.printed('the API server ended (exit-code-1) and starts again')
    stranger.close()
    await firstAnswers()
    await second.create<ConfigMap>(configMaps, { metadata: { name: 'amid' } }, { namespace })
    t.same(told(stateDir).otherServers, otherServers, 'the same process')
  })

  await t.test('nor does one that ends again and again', async (t) => {
    const isSaid = (): boolean => /in a row; the others go on, and it starts again in \d+ s/.test(command.output())
    while (!isSaid()) await killFirst(cluster)
    t.ok(await second.get(configMaps, { namespace, name: 'amid' }))
    await firstAnswers()
    await until(() => told(stateDir).otherServers[0]?.pid, { what: 'the second in running.json' })
    t.same(told(stateDir).otherServers, otherServers, 'the same process')
  })

  process.kill(told(stateDir).otherServers[0]!.pid!, 'SIGKILL')
  const isOver = (): boolean => command.output().includes('so the cluster ends')
  while (!isOver()) await killFirst(cluster, isOver)
  t.equal(await command.ended, 137)
  await until(() => processesWith(stateDir).length === 0, { what: 'the end of all processes' })
})

const patient = { what: 'an answer of the first server', timeoutMs: 30_000 }

/** Resolves to undefined while a process that was killed still has the port. */
async function listenAt(url: string): Promise<Server | undefined> {
  const server = createServer().listen(Number(new URL(url).port), '127.0.0.1')
  return await once(server, 'listening').then(
    () => server,
    () => undefined,
  )
}

/** Kills the first API server as soon as there is one. */
async function killFirst(cluster: TestCluster, isOver = (): boolean => false): Promise<void> {
  const pid = () => serversOf(cluster)[0]
  await until(() => pid() !== undefined || isOver(), { what: 'the next first server', timeoutMs: 20_000 })
  const killed = pid()
  if (killed === undefined) return
  killIfThere(killed)
  await until(() => pid() !== killed, { what: 'its end' })
}
