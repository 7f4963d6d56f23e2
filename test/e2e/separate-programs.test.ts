/** API servers, control loops and a kubelet as programs of their own, on one etcd. */
import t from 'tap'
import type { Lease } from '../../shared/api/types.ts'
import type { Deployment } from '../../shared/api/workloads.ts'
import { deployments, leases, pods } from '../../shared/client/resources.ts'
import { type CommandRun, startCommand } from '../harness/cluster.ts'
import { etcdPrograms, noEtcd, startEtcd } from '../harness/etcd.ts'
import { scratchFolder } from '../harness/scratch.ts'
import { SeparatePrograms } from '../harness/separate-programs.ts'
import { skipOrFail } from '../harness/skip.ts'
import { until } from '../harness/until.ts'

const namespace = 'default'
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

const program = etcdPrograms()[0]
if (!program) skipOrFail(t, noEtcd)
else
  t.test('two API servers, two programs of control loops and a kubelet', async (t) => {
    const { url } = await startEtcd(t, program)
    const cluster = new SeparatePrograms(t, { folder: scratchFolder(t, 'separate'), storage: `etcd:${url}` })
    const first = await cluster.startApiServer(`--bootstrap-kubeconfig=${cluster.file('bootstrap')}`)
    await cluster.startApiServer()
    const running = await Promise.all([cluster.startControllers(...fast), cluster.startControllers(...fast)])
    const client = await cluster.client()
    const replicas = async (): Promise<number | undefined> =>
      (await client.get<Deployment>(deployments, { namespace, name: 'web' })).status?.readyReplicas

    await t.test('the node gets its certificate, and a Deployment runs', async (t) => {
      cluster.startKubelet('alone-1')
      await client.create<object>(deployments, web)
      await until(async () => (await replicas()) === 2, { what: 'two pods' })
      t.equal((await client.list(pods, { namespace })).items.length, 2)
    })

    await t.test('when the leader is killed, the other goes on within the lease duration', async (t) => {
      const name = 'kube-controller-manager'
      const holder = async () =>
        (await client.get<Lease>(leases, { namespace: 'kube-system', name })).spec?.holderIdentity
      const isBy = (run: CommandRun, identity = 'none'): boolean =>
        run.output().includes(`${identity}","msg":"became leader`)
      let before: string | undefined
      const leader = await until(
        async () => {
          before = await holder()
          return running.find((each) => isBy(each, before))
        },
        { what: 'a leader' },
      )
      const startMs = performance.now()
      leader.child.kill('SIGKILL')
      await until(async () => (await holder()) !== before, { what: 'another leader' })
      const tookMs = performance.now() - startMs
      t.ok(tookMs < 6_000, `${tookMs} ms`)
      await client.patch(deployments, { namespace, name: 'web' }, { spec: { replicas: 3 } })
      await until(async () => (await replicas()) === 3, { what: 'a third pod' })
      t.equal((await client.list(pods, { namespace })).items.length, 3)
    })

    await t.test('when an API server ends, the loops go on with the other', async (t) => {
      await first.stop()
      const second = await cluster.client('server-1')
      await second.patch(deployments, { namespace, name: 'web' }, { spec: { replicas: 4 } })
      await until(async () => (await second.list(pods, { namespace })).items.length === 4, { what: 'a fourth pod' })
      t.equal(await first.ended, 0)
    })
  })

t.test('what cannot be is said in one sentence', async (t) => {
  const folder = scratchFolder(t, 'separate-errors')
  const cases = [
    [['controllers', '--kubeconfig=none'], 2, /none/],
    [['controllers', '--server=http://127.0.0.1:1'], 2, /--server must be the URL of an API server such as https:/],
    [['controllers', '--leader-elect-lease-duration=5s'], 2, /--leader-elect-lease-duration must be longer than/],
    [['apiserver', '--storage=etcd:http://127.0.0.1:1'], 1, /etcd at http:\/\/127.0.0.1:1/],
    [['apiserver', '--controllers=x'], 2, /unknown flag --controllers/],
  ] as const
  for (const [args, code, message] of cases) {
    const run = startCommand(t, [...args], { cwd: folder })
    t.equal(await run.ended, code, args.join(' '))
    t.match(run.output(), message)
    t.equal(run.output().trim().split('\n').length, 1, run.output())
  }
})
