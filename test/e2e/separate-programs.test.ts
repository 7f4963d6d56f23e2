/** API servers, control loops and a kubelet as programs of their own, on one etcd. */
import { once } from 'node:events'
import { connect } from 'node:tls'
import t from 'tap'
import type { Termination } from '../../shared/api/termination.ts'
import type { ConfigMap, Lease, Pod } from '../../shared/api/types.ts'
import type { Deployment } from '../../shared/api/workloads/workloads.ts'
import { configMaps, deployments, leases, pods, terminations } from '../../shared/client/resources.ts'
import { type CommandRun, startCommand } from '../harness/cluster.ts'
import { etcdPrograms, freePort, noEtcd, startEtcd } from '../harness/etcd.ts'
import { findKubectls, kubectlSays } from '../harness/kubectl.ts'
import { startWitness } from '../harness/reasons.ts'
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

const isWitness = ({ metadata }: Pod): boolean => metadata.name === 'witness'

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
    const healthzPort = await freePort()
    const flags = [...fast, `--healthz-port=${healthzPort}`]
    const running = await Promise.all([cluster.startControllers(...flags), cluster.startControllers(...fast)])
    const client = await cluster.client()
    const replicas = async (): Promise<number | undefined> =>
      (await client.get<Deployment>(deployments, { namespace, name: 'web' })).status?.readyReplicas

    await t.test('the node gets its certificate, and a Deployment runs', async (t) => {
      cluster.startKubelet('alone-1')
      await client.create<object>(deployments, web)
      await until(async () => (await replicas()) === 2, { what: 'two pods' })
      t.equal((await client.list(pods, { namespace })).items.length, 2)
    })

    await t.test('control loops tell their health on loopback, over HTTP', async (t) => {
      const ask = async (target: string) => {
        const answer = await fetch(`http://127.0.0.1:${healthzPort}${target}`)
        return [answer.status, await answer.text()]
      }
      t.same(await ask('/healthz'), [200, 'ok'])
      t.same(await ask('/livez?verbose'), [200, '[+]ping ok\n[+]leaderElection ok\nlivez check passed\n'])
      t.same(await ask('/metrics'), [404, ''])
      const taken = startCommand(t, ['controllers', `--kubeconfig=${cluster.file('kubeconfig')}`, flags.at(-1)!])
      t.equal(await taken.ended, 1)
      t.match(
        taken.output(),
        /^kubestage: port \d+ on 127.0.0.1 is in use by another program; choose another with --healthz-port\n$/,
      )
    })

    await t.test('what one server has for itself is asked of it by a flag', async (t) => {
      const ask = async (...args: string[]) => {
        const run = startCommand(t, [...args, `--kubeconfig=${cluster.file('kubeconfig')}`])
        return [await run.ended, run.output()]
      }
      t.match(await ask('journal'), [2, /^kubestage: 2 API servers have .*: pass --this-server to kubestage, or ask/])
      t.match(await ask('journal', '--this-server', '--user=none'), [0, /^AT +USER/])
      const rule = 'verb: create, resource: configmaps, then: {status: 503}'
      t.match(await ask('fault', 'add', rule, '--this-server'), [0, 'fault 1 is on\n'])
      t.match(await ask('fault', 'clear', '--this-server'), [0, /./])
    })

    await t.test(
      'logs, exec and the reason of a deletion reach the pod through the server that its kubelet does not use',
      async (t) => {
        const second = await cluster.client('server-1')
        const told = await startWitness('witness', { client: second, folder: cluster.folder })
        const [version] = findKubectls()
        if (!version) return skipOrFail(t, 'no kubectl on this machine')
        const says = (...args: string[]) => kubectlSays(t, version, cluster.file('server-1/kubeconfig'), args)
        t.equal(await says('exec', 'witness', '--', 'echo', 'there'), 'there\n')
        t.equal(await says('logs', 'witness'), '')
        await second.delete(pods, { namespace, name: 'witness' }, { gracePeriodSeconds: 10, reason: 'Update' })
        await until(async () => !(await second.list<Pod>(pods, { namespace })).items.some(isWitness), {
          what: 'its end',
        })
        t.equal(told(), 'Update\n--reason=Update\n')
        const { items } = await client.list<Termination>(terminations, { namespace, fieldSelector: 'podName=witness' })
        t.match(items[0]?.requests, [{ user: 'kubernetes-admin', reason: 'Update' }])
      },
    )

    await t.test('cluster-info names the first server, or the endpoint of all', async (t) => {
      const server = async (): Promise<string | undefined> => {
        const ref = { namespace: 'kube-public', name: 'cluster-info' }
        const { data } = await client.get<ConfigMap>(configMaps, ref)
        return /server: (\S+)/.exec(data?.kubeconfig ?? '')?.[1]
      }
      t.equal(await server(), cluster.urls[0])
      const third = await cluster.startApiServer('--control-plane-endpoint=api.example.test')
      t.equal(await server(), 'https://api.example.test:6443')
      const create = ['token', 'create', '--print-join-command', `--kubeconfig=${cluster.file('kubeconfig')}`]
      const printed = startCommand(t, create)
      t.equal(await printed.ended, 0)
      t.match(printed.stdout(), /^kubestage join api\.example\.test:6443 --token /)
      const socket = connect({ port: Number(new URL(cluster.urls[2]!).port), rejectUnauthorized: false })
      await once(socket, 'secureConnect')
      t.match(socket.getPeerCertificate().subjectaltname, /DNS:api\.example\.test/)
      socket.destroy()
      await third.stop()
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
