import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import type { ConfigMap, Pod } from '../../shared/api/types.ts'
import { pods } from '../../shared/client/resources.ts'
import { cli, startCommand, startProgram, startTestCluster, type TestCluster } from '../harness/cluster.ts'
import { byeScript, podOf, politeScript, untilHandled } from '../harness/pods.ts'
import { processesWith, serversOf } from '../harness/processes.ts'
import { scratchFolder } from '../harness/scratch.ts'
import { until } from '../harness/until.ts'

const configmaps = { group: '', version: 'v1', plural: 'configmaps' }
const namespace = 'default'
t.jobs = 3 // each has a cluster of its own, and waits most of the time

t.test('objects in a file: when the API server ends, it starts again, and pods run on', async (t) => {
  const cluster = await startTestCluster(t, `--storage=sqlite:${join(scratchFolder(t, 'store'), 'state.db')}`)
  const { client, stateDir } = cluster
  const before = await runningPod(cluster, 'lives')
  await client.create<ConfigMap>(configmaps, { metadata: { name: 'kept' } }, { namespace })
  const [process1] = processesWith(`lives-${process.pid}`)
  const url = told(stateDir).url

  // As the heap's overflow ends it, and as another process does.
  for (const signal of ['SIGABRT', 'SIGKILL'] as const) {
    const { pid } = told(stateDir)
    process.kill(pid, signal)
    await cluster.process.printed(`the API server ended (${signal}) and starts again; the pods run on`)
    await until(() => told(stateDir).pid !== pid, { what: 'the next API server' })
    t.equal(told(stateDir).url, url, 'at the same address')
    const after = await until(() => client.get<Pod>(pods, { namespace, name: 'lives' }).catch(() => undefined), {
      what: 'an answer',
    })
    t.same(after.status?.containerStatuses?.[0], before.status?.containerStatuses?.[0], 'same container')
    t.ok(processesWith(`lives-${process.pid}`).includes(process1!), 'same process')
    t.ok(await client.get(configmaps, { namespace, name: 'kept' }), 'what was acknowledged is there')
    t.match(readFileSync(join(stateDir, 'logs', 'apiserver.log'), 'utf8'), `"ending":"${signal}"`, 'and it is logged')
  }
  await until(() => greetings(cluster).length > 1, { what: 'a later server to greet' })
  for (const greeting of greetings(cluster))
    t.equal(greeting, `API server  ${url}`, 'with its address, and nothing about ports')
  // The next kubelet has the pod.
  await client.delete(pods, { namespace, name: 'lives' }, { gracePeriodSeconds: 5 })
  await until(
    () =>
      client.get(pods, { namespace, name: 'lives' }).then(
        () => false,
        () => true,
      ),
    {
      what: 'the pod to end',
    },
  )
  t.same(processesWith(`lives-${process.pid}`), [])
  await runningPod(cluster, 'last')
  cluster.process.child.kill('SIGINT')
  t.equal(await cluster.process.ended, 0, 'Ctrl-C ends the cluster in order')
  t.same(processesWith(stateDir), [], 'nothing is left')
})

t.test('the process that a shell starts becomes the guardian', async (t) => {
  const stateDir = scratchFolder(t, 'test')
  const storage = `--storage=sqlite:${join(scratchFolder(t, 'store'), 'state.db')}`
  const args = ['up', '--port=0', '--kubelet=false', storage, `--state-dir=${stateDir}`]
  const up = startProgram(t, ['--unset=KUBESTAGE_LAUNCHER_FD', cli, ...args], {
    node: '/usr/bin/env',
    variables: { PATH: `${dirname(process.execPath)}:${process.env.PATH}` },
  })
  await up.printed('is ready')
  t.match(readFileSync(`/proc/${up.child.pid}/cmdline`, 'utf8'), 'guardian.pl')
  t.not(told(stateDir).pid, up.child.pid)
  up.child.kill('SIGINT')
  t.equal(await up.ended, 0)
})

t.test('with -o json the cluster is described once, whatever its API server does', async (t) => {
  const stateDir = scratchFolder(t, 'test')
  const storage = `--storage=sqlite:${join(scratchFolder(t, 'store'), 'state.db')}`
  const up = startCommand(t, ['up', '-o=json', '--port=0', '--kubelet=false', storage, `--state-dir=${stateDir}`])
  await until(() => up.stdout().endsWith('}\n'), { what: 'the description' })
  const { url } = JSON.parse(up.stdout())
  const { pid } = told(stateDir)
  process.kill(pid, 'SIGKILL')
  await until(() => told(stateDir).pid !== pid, { what: 'the next API server' })
  await up.stop()
  t.equal(JSON.parse(up.stdout()).url, url)
})

t.test(
  'when the process that the user started is killed, no pod outlives it, whatever the API server did before',
  async (t) => {
    const cluster = await startTestCluster(t, `--storage=sqlite:${join(scratchFolder(t, 'store'), 'state.db')}`)
    await runningPod(cluster, 'p')
    const { pid } = told(cluster.stateDir)
    process.kill(pid, 'SIGKILL')
    await until(() => told(cluster.stateDir).pid !== pid, { what: 'the next API server' })
    process.kill(told(cluster.stateDir).pid, 'SIGSTOP')
    cluster.process.child.kill('SIGKILL')
    await gone(t, cluster)
  },
)

t.test('an API server that ends again and again is given up, and pods end in order', async (t) => {
  const cluster = await startTestCluster(t, `--storage=sqlite:${join(scratchFolder(t, 'store'), 'state.db')}`)
  const said = await podThatSaysBye(cluster)
  let last = 0
  const killing = setInterval(() => {
    const [pid = last] = serversOf(cluster)
    if (pid !== last) process.kill(pid, 'SIGKILL')
    last = pid
  }, 50)
  t.equal(await cluster.process.ended, 137)
  clearInterval(killing)
  t.match(cluster.process.output(), 'the API server ended 5 times in a row (at last: SIGKILL), so the cluster ends')
  t.equal(said(), 'bye\n', 'within its grace period')
  await gone(t, cluster)
})

t.test('a cluster that is stopped between two API servers ends its pods in order', async (t) => {
  const cluster = await startTestCluster(t, `--storage=sqlite:${join(scratchFolder(t, 'store'), 'state.db')}`)
  const said = await podThatSaysBye(cluster)
  const { child, printed, ended } = cluster.process
  process.kill(told(cluster.stateDir).pid, 'SIGKILL')
  await printed('the API server ended (SIGKILL) and starts again')
  child.kill('SIGTERM')
  t.equal(await ended, 143)
  t.equal(said(), 'bye\n', 'within its grace period')
  await gone(t, cluster)
})

t.test(
  'kubestage down ends a detached cluster whose API server was killed, and one whose API server hangs',
  async (t) => {
    for (const trouble of ['SIGKILL', 'SIGSTOP'] as const) {
      const stateDir = scratchFolder(t, 'test')
      const up = startCommand(t, ['up', '-d', '--port=0', `--state-dir=${stateDir}`])
      t.equal(await up.ended, 0, up.output())
      process.kill(told(stateDir).pid, trouble)
      const timeout = trouble === 'SIGSTOP' ? ['--timeout=2s'] : []
      const down = startCommand(t, ['down', `--state-dir=${stateDir}`, ...timeout])
      t.equal(await down.ended, trouble === 'SIGKILL' ? 0 : 1, down.output())
      await until(() => processesWith(stateDir).length === 0, { what: `all processes to end after ${trouble}` })
    }
  },
)

t.test('objects in memory: when the API server ends, pods end in order, and the next start tells', async (t) => {
  const cluster = await startTestCluster(t)
  const said = await podThatSaysBye(cluster)
  cluster.process.child.kill('SIGABRT')
  await cluster.process.printed('the API server ended, and its objects were in memory: pods end in order now')
  await gone(t, cluster)
  t.equal(said(), 'bye\n')
  const next = startCommand(t, ['up', '--port=0', '--kubelet=false', `--state-dir=${cluster.stateDir}`])
  await next.printed('is ready')
  t.match(
    next.output(),
    /the last cluster here \(process \d+, since .*\) was killed or crashed; its objects were in memory/,
  )
})

interface Told {
  pid: number
  url: string
}

const told = (stateDir: string): Told => JSON.parse(readFileSync(join(stateDir, 'running.json'), 'utf8'))

async function gone(t: Test, { stateDir }: TestCluster): Promise<void> {
  await until(() => processesWith(stateDir).length === 0, { what: 'all processes to end' })
  t.pass('nothing is left')
}

const greetings = ({ process }: TestCluster): string[] => process.output().match(/API server {2}.*/g) ?? []

/** The program, and not its guardian or launcher. */
/** Runs a pod that writes a word after its SIGTERM; returns how to read that, which is empty before. */
async function podThatSaysBye({ client, stateDir }: TestCluster): Promise<() => string> {
  const out = join(stateDir, 'said')
  const command = ['sh', '-c', byeScript(out)]
  await client.create(pods, podOf({ name: 'p', command, hostFolder: stateDir }), { namespace })
  const running = async (): Promise<Pod | undefined> => {
    const pod = await client.get<Pod>(pods, { namespace, name: 'p' })
    return isRunning(pod) ? pod : undefined
  }
  await untilHandled(await until(running, { what: 'the pod' }))
  return () => (existsSync(out) ? readFileSync(out, 'utf8') : '')
}

const isRunning = ({ status }: Pod): boolean => status?.phase === 'Running'

async function runningPod({ client }: TestCluster, name: string): Promise<Pod> {
  const command = ['sh', '-c', `: ${name}-${process.pid}; ${politeScript}`]
  await client.create(pods, podOf({ name, command }), { namespace })
  return await until(
    async () => {
      const pod = await client.get<Pod>(pods, { namespace, name })
      return isRunning(pod) ? pod : undefined
    },
    { what: `pod ${name} to run` },
  )
}
