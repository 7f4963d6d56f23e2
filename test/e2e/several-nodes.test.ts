/** `kubestage up --nodes N --simulated-nodes N`, and what can happen to each of these nodes. */
import t from 'tap'
import type { Node, Pod } from '../../shared/api/types.ts'
import { nodes, pods } from '../../shared/client/resources.ts'
import { startCommand, startTestCluster } from '../harness/cluster.ts'
import { scratchFolder } from '../harness/scratch.ts'
import { until } from '../harness/until.ts'

const namespace = 'default'

t.test('nodes of both kinds', async (t) => {
  const flags = ['--nodes=2', '--simulated-nodes=2', '--time-scale=4', '--node-monitor-grace-period=20s']
  const cluster = await startTestCluster(t, ...flags)
  const { client, stateDir } = cluster
  const names = ['node-1', 'node-2', 'simulated-1', 'simulated-2']
  const isReady = async (name: string): Promise<boolean> =>
    (await client.get<Node>(nodes, { name })).status?.conditions?.find(({ type }) => type === 'Ready')?.status ===
    'True'
  const kubestage = async (...args: string[]): Promise<string> => {
    const command = startCommand(t, args, { variables: { KUBESTAGE_STATE_DIR: stateDir } })
    t.equal(await command.ended, 0, `${args.join(' ')}: ${command.output()}`)
    return command.stdout()
  }

  t.same((await client.list<Node>(nodes)).items.map(({ metadata }) => metadata.name).sort(), names)
  t.match(cluster.process.output(), 'node-1 to node-2: pods run as processes of this machine')
  t.match(cluster.process.output(), 'simulated-1 to simulated-2: pods are simulated')
  t.match(JSON.parse(await kubestage('status', '-o', 'json')), { node: 'node-1', nodes: 2, simulatedNodes: 2 })
  t.match(await kubestage('status'), /^nodes +2\nsimulated nodes +2$/m)

  t.test('pods run on each', async (t) => {
    const spec = { containers: [{ name: 'main', image: 'pause' }] }
    for (const nodeName of names) {
      const pod = { metadata: { name: nodeName }, spec: { ...spec, nodeName } }
      await client.create<Pod>(pods, pod as Pod, { namespace })
    }
    for (const name of names) {
      const isRunning = async () => (await client.get<Pod>(pods, { namespace, name })).status?.phase === 'Running'
      await until(isRunning, { what: `pod ${name} to run` })
    }
    t.end()
  })

  t.test('each is lost, shut down, returns, and reboots', async (t) => {
    t.jobs = names.length // most of the time they wait
    for (const name of names) {
      t.test(name, async (t) => {
        for (const word of ['lose', 'shutdown']) {
          t.match(await kubestage('node', word, name), `${name} is `)
          await until(async () => !(await isReady(name)), { what: `${name} not to be ready after ${word}` })
          t.equal(await kubestage('node', 'return', name), `${name} is back\n`)
          await until(() => isReady(name), { what: `${name} to be ready after ${word}` })
        }
        t.match(await kubestage('node', 'reboot', name), `${name} has rebooted`)
        await until(() => isReady(name), { what: `${name} to be ready after its reboot` })
      })
    }
  })

  t.test('time is moved on all, and images on those that run programs', async () => {
    await kubestage('clock', 'advance', '10m')
    await kubestage('image', 'add', 'any:*', '--', 'sleep', '100')
  })

  t.test('each kubelet has a log', async (t) => {
    t.match(await kubestage('logs', 'kubelet', '--node', 'node-2'), /"/)
    const command = startCommand(t, ['logs', 'kubelet', '--node=node-9', `--state-dir=${stateDir}`])
    t.equal(await command.ended, 1)
    t.match(command.output(), /^kubestage: .*node-9.* does not exist/)
  })

  t.test('Ctrl-C ends all', async (t) => {
    cluster.process.child.kill('SIGINT')
    t.equal(await cluster.process.ended, 0)
    t.match(cluster.process.output(), /Stopped\.\n$/)
  })
})

t.test('in the background', async (t) => {
  const place = `--state-dir=${scratchFolder(t, 'nodes')}`
  const up = startCommand(t, ['up', '--detach', '--simulated-nodes=3', '--port=0', place])
  t.equal(await up.ended, 0, up.output())
  t.teardown(() => startCommand(t, ['down', place]).ended)
  const list = startCommand(t, ['node', 'list', '-o', 'json', place])
  t.equal(await list.ended, 0, list.output())
  t.match(
    JSON.parse(list.stdout()).map(({ name, status }: { name: string; status: string }) => `${name} ${status}`),
    ['simulated-1 Ready', 'simulated-2 Ready', 'simulated-3 Ready'],
    'no others, as in the library',
  )
})

t.test('what no cluster can have', async (t) => {
  const place = `--state-dir=${scratchFolder(t, 'nodes')}`
  const refused: [args: string[], message: string, code?: number][] = [
    [['--nodes=-1'], 'nodes must be a whole number from 0 to 100, not "-1"'],
    [['--nodes=1.5'], 'nodes must be a whole number from 0 to 100, not "1.5"'],
    [['--nodes=1e9'], 'nodes must be a whole number from 0 to 100, not "1e9"'],
    [['--nodes=many'], 'nodes must be a whole number from 0 to 100, not "many"'],
    [['--nodes='], 'nodes must be a whole number from 0 to 100, not ""'],
    [['--simulated-nodes=1000000000'], 'must be a whole number from 0 to 1000, not 1000000000'],
    [['--kubelet=false', '--nodes=2'], 'kubelet=false means that no pods run as processes: leave out --nodes'],
    [['--nodes=2', '--simulated-nodes=2', '--node-name=simulated-1'], 'a simulated node is called simulated-1, too'],
  ]
  for (const [args, message] of refused) {
    const command = startCommand(t, ['up', '--port=0', place, ...args])
    t.not(await command.ended, 0, args.join(' '))
    t.match(command.output(), message)
    t.match(command.output(), /^kubestage: [^\n]+\n/)
  }
})

t.test('none at all', async (t) => {
  const { client, process } = await startTestCluster(t, '--nodes=0')
  t.same((await client.list<Node>(nodes)).items, [])
  t.match(process.output(), 'none (--nodes=0)')
})
