/** A leader that is halted, or cut off, for longer than its Lease, and comes back with what it believed before. */
import t, { type Test } from 'tap'
import type { Lease, Pod } from '../../shared/api/types.ts'
import type { Job } from '../../shared/api/workloads/workloads.ts'
import type { Client } from '../../shared/client/client.ts'
import { startInformer } from '../../shared/client/informer.ts'
import { deployments, jobs, leases, pods } from '../../shared/client/resources.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import type { CommandRun } from '../harness/cluster.ts'
import { etcdPrograms, noEtcd, startEtcd } from '../harness/etcd.ts'
import { scratchFolder } from '../harness/scratch.ts'
import { SeparatePrograms } from '../harness/separate-programs.ts'
import { skipOrFail } from '../harness/skip.ts'
import { startTcpProxy } from '../harness/tcp-proxy.ts'
import { until } from '../harness/until.ts'

const namespace = 'default'
const election = [
  '--leader-elect-lease-duration=2s',
  '--leader-elect-renew-deadline=1500ms',
  '--leader-elect-retry-period=300ms',
]
const flags = [...election, '--scheduler=false']

const template = (app: string) => ({
  metadata: { labels: { app } },
  spec: { restartPolicy: app === 'web' ? 'Always' : 'Never', containers: [{ name: 'c', image: 'x' }] },
})
const deployment = {
  metadata: { name: 'web', namespace },
  spec: { replicas: 2, selector: { matchLabels: { app: 'web' } }, template: template('web') },
}
const job = (name: string) => ({
  metadata: { name, namespace },
  spec: { parallelism: 3, completions: 3, template: template(name) },
})

/** All that ever was created, and deleted, of a kind, by its label. */
class Ledger {
  readonly created = new Map<string, Set<string>>()
  readonly deleted = new Map<string, Set<string>>()
  readonly synced: Promise<void>

  constructor(t: Test, client: Client) {
    const note = (map: Map<string, Set<string>>, { metadata }: Pod): void => {
      const app = metadata.labels?.app ?? ''
      map.set(app, (map.get(app) ?? new Set()).add(metadata.uid ?? ''))
    }
    const informer = startInformer<Pod>({
      client,
      clock: realClock,
      resource: pods,
      handlers: [{ onAdd: (pod) => note(this.created, pod), onDelete: (pod) => note(this.deleted, pod) }],
    })
    this.synced = informer.synced()
    t.teardown(() => informer.close())
  }

  /** How many were created and deleted. */
  counts(app: string): [number, number] {
    return [this.created.get(app)?.size ?? 0, this.deleted.get(app)?.size ?? 0]
  }

  async reaches(app: string, created: number, deleted = 0): Promise<void> {
    const isThere = (): boolean => this.counts(app)[0] >= created && this.counts(app)[1] >= deleted
    await until(isThere, { what: `${created} ${app} created and ${deleted} deleted` })
  }
}

async function holder(client: Client): Promise<string> {
  const lease = await client.get<Lease>(leases, { namespace: 'kube-system', name: 'kube-controller-manager' })
  return lease.spec?.holderIdentity ?? ''
}

/** One that may lead, and how it is kept from its Lease. */
interface Candidate {
  run: CommandRun
  halt(): void
  resume(): void
}

const halting = (run: CommandRun): Candidate => ({
  run,
  halt: () => void run.child.kill('SIGSTOP'),
  resume: () => void run.child.kill('SIGCONT'),
})

const leads = ({ run }: Candidate, identity: string): boolean =>
  run.output().includes(`${identity}","msg":"became leader`)

const timesLost = ({ run }: Candidate): number => run.output().split('lost the lead; its loops have stopped').length

/** On a busy machine the lead may change while it is asked for. */
const leaderOf = (client: Client, candidates: readonly Candidate[]) =>
  until(
    async () => {
      const identity = await holder(client)
      const leader = candidates.find((each) => leads(each, identity))
      return leader && { leader, identity }
    },
    { what: 'a leader' },
  )

/** Halts the leader amid its work; twice, so that each of both has been the one that comes back. */
async function haltLeaders(
  t: Test,
  client: Client,
  candidates: readonly Candidate[],
  rounds: readonly number[] = [1, 2],
): Promise<void> {
  const ledger = new Ledger(t, client)
  await ledger.synced
  const scale = (replicas: number) => client.patch(deployments, { namespace, name: 'web' }, { spec: { replicas } })
  await client.create<object>(deployments, deployment)
  await ledger.reaches('web', 2)
  let [made, removed] = [2, 0]
  for (const round of rounds) {
    const { leader, identity } = await leaderOf(client, candidates)
    const lost = timesLost(leader)
    await scale(made - removed + 30)
    await ledger.reaches('web', made + 2)
    leader.halt()
    made += 30
    await client.create<object>(jobs, job(`job-${round}`))
    await until(async () => (await holder(client)) !== identity, { what: 'another leader' })
    await ledger.reaches('web', made)
    await ledger.reaches(`job-${round}`, 3)
    removed += 10
    await scale(made - removed)
    await ledger.reaches('web', made, removed)
    leader.resume()
    await until(() => timesLost(leader) > lost, { what: 'the halted one to see that it leads no more' })
    made += 3
    await scale(made - removed)
    await client.create<object>(jobs, job(`after-${round}`))
    await ledger.reaches('web', made, removed)
    await ledger.reaches(`after-${round}`, 3)
    t.same(ledger.counts('web'), [made, removed], `round ${round}: created, deleted`)
    for (const name of [`job-${round}`, `after-${round}`]) t.same(ledger.counts(name), [3, 0], name)
  }
  const { items } = await client.list<Job>(jobs, { namespace })
  t.equal(items.length, 2 * rounds.length)
}

const program = etcdPrograms()[0]
if (!program) skipOrFail(t, noEtcd)
else {
  const start = async (t: Test) => {
    const { url } = await startEtcd(t, program)
    const cluster = new SeparatePrograms(t, { folder: scratchFolder(t, 'halted'), storage: `etcd:${url}` })
    await cluster.startApiServer()
    return { url, cluster, client: await cluster.client() }
  }

  t.test('programs of control loops: no pod is created twice, none is deleted', async (t) => {
    const { cluster, client } = await start(t)
    const running = await Promise.all([cluster.startControllers(...flags), cluster.startControllers(...flags)])
    await haltLeaders(t, client, running.map(halting))
  })

  t.test('API servers with control loops: no pod is created twice, none is deleted', async (t) => {
    const { cluster, client } = await start(t)
    const running = [await cluster.startServerWithLoops(...flags), await cluster.startServerWithLoops(...flags)]
    await haltLeaders(t, client, running.map(halting), [1])
  })

  t.test('API servers that are cut off from etcd: no pod is created twice, none is deleted', async (t) => {
    const { url, cluster, client } = await start(t)
    const startBehindProxy = async (): Promise<Candidate> => {
      const proxy = await startTcpProxy(t, url)
      const storage = `--storage=etcd:http://127.0.0.1:${proxy.port}`
      const run = await cluster.startServerWithLoops(storage, ...flags)
      return { run, halt: () => proxy.cut(), resume: () => proxy.heal() }
    }
    await haltLeaders(t, client, [await startBehindProxy(), await startBehindProxy()], [1])
  })
}
