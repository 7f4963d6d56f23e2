/** What a pod is told whose program finds its port taken by another program of the machine. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Event, Pod } from '../../shared/api/types.ts'
import { events, pods } from '../../shared/client/resources.ts'
import { startCommand, startTestCluster } from '../harness/cluster.ts'
import { until } from '../harness/until.ts'

if (!existsSync('/proc/net/tcp')) {
  t.pass('only Linux tells who listens', { skip: true })
} else {
  const namespace = 'default'
  const { client, stateDir } = await startTestCluster(t)
  const { holder, port } = await devServer(t)

  const listens = (address: string, number = port): string[] => [
    'node',
    '-e',
    `require('net').createServer().listen(${number}, ${address})`,
  ]
  const create = (name: string, spec: Partial<Pod['spec']>): Promise<Pod> =>
    client.create<Pod>(pods, { metadata: { name }, spec: { restartPolicy: 'Never', ...spec } } as Pod, { namespace })
  const container = (command: string[], more: object = {}) => ({ name: 'main', image: 'x', command, ...more })
  const POD_IP = 'process.env.KUBESTAGE_POD_IP'
  const eventsOf = async (name: string): Promise<Event[]> =>
    (await client.list<Event>(events, { namespace, fieldSelector: `involvedObject.name=${name}` })).items
  const told = (name: string): Promise<Event> =>
    until(async () => (await eventsOf(name)).find(({ reason }) => reason === 'PortInUse'), {
      what: `PortInUse of ${name}`,
    })
  const whoHolds = new RegExp(`port ${port} is in use by process ${holder.pid} \\(node\\)`)

  t.test('on a port that it declares', async (t) => {
    await create('declared', { containers: [container(listens(POD_IP), { ports: [{ containerPort: port }] })] })
    const { type, message, involvedObject } = await told('declared')
    t.match({ type, message, path: involvedObject.fieldPath }, { type: 'Warning', path: 'spec.containers{main}' })
    t.match(message, whoHolds)
  })

  t.test('on a port of its probe', async (t) => {
    const readinessProbe = { tcpSocket: { port } }
    await create('probed', { containers: [container(listens(POD_IP), { readinessProbe })] })
    t.match((await told('probed')).message, whoHolds)
  })

  t.test('on a port that only its output names', async (t) => {
    await create('printed', { containers: [container(listens(POD_IP))] })
    t.match((await told('printed')).message, whoHolds)
  })

  t.test('as an init container, and as a sidecar', async (t) => {
    const ports = [{ containerPort: port }]
    const main = container(['sh', '-c', 'sleep 1000'])
    const first = { ...container(listens(POD_IP), { ports }), name: 'first' }
    await create('init', { initContainers: [first], containers: [main] })
    const initEvent = await told('init')
    t.match(initEvent.message, whoHolds)
    t.equal(initEvent.involvedObject.fieldPath, 'spec.initContainers{first}')
    await create('sidecar', {
      terminationGracePeriodSeconds: 1,
      initContainers: [{ ...first, restartPolicy: 'Always' }],
      containers: [main],
    })
    t.match((await told('sidecar')).message, whoHolds)
  })

  t.test('a probe that another pod answers', async (t) => {
    const free = await freePort()
    // A program that goes on without its port, and tries again.
    const serve = `const s = require('http').createServer((q, r) => r.end())
      s.on('error', () => setTimeout(listen, 200)); const listen = () => s.listen(${free}, '0.0.0.0'); listen()`
    const action = { httpGet: { port: free }, periodSeconds: 1 }
    const replica = container(['node', '-e', serve], {
      readinessProbe: action,
      startupProbe: { ...action, failureThreshold: 300 },
    })
    const isReady = async (name: string): Promise<boolean> => {
      const { conditions = [] } = (await client.get<Pod>(pods, { namespace, name })).status ?? {}
      return conditions.some(({ type, status }) => type === 'Ready' && status === 'True')
    }
    await create('first-replica', { containers: [replica] })
    await until(() => isReady('first-replica'), { what: 'the first replica to be ready' })
    await create('second-replica', { containers: [replica] })
    const { message } = await told('second-replica')
    t.match(message, `port ${free} is in use by pod ${namespace}/first-replica (process `)
    t.match(message, /which listens on all addresses of this machine: let both listen on \$KUBESTAGE_POD_IP/)
    const why = `Startup probe failed: it was answered by pod ${namespace}/first-replica (process `
    const isSaid = async () => (await eventsOf('second-replica')).find(({ message = '' }) => message.startsWith(why))
    t.match(await until(isSaid, { what: 'the failed probe' }), { reason: 'Unhealthy', type: 'Warning' })
    t.notOk(await isReady('second-replica'), 'it is not ready')

    await client.delete(pods, { namespace, name: 'first-replica' }, { gracePeriodSeconds: 0 })
    await until(() => isReady('second-replica'), { what: 'the second replica to be ready, with the port' })
  })

  t.test('what Linux permits beside a program on all addresses, and beside a pod', async (t) => {
    const free = await freePort()
    const bind = (host: string): Promise<string> =>
      new Promise((resolve) => {
        const server = createServer().on('error', ({ code }: NodeJS.ErrnoException) => resolve(code ?? ''))
        server.listen(free, host, () => server.close(() => resolve('listens')))
      })
    const pod = createServer().listen(free, '127.64.255.1')
    await once(pod, 'listening')
    t.equal(await bind('0.0.0.0'), 'EADDRINUSE', 'a pod on its own address keeps a program from all addresses')
    t.equal(await bind('::'), 'EADDRINUSE', 'of IPv6, too')
    t.equal(await bind('127.0.0.1'), 'listens', 'but not from localhost')
    t.equal(await bind('127.64.255.2'), 'listens', 'nor another pod from its address')
    await new Promise((resolve) => pod.close(resolve))
    const everywhere = createServer().listen(free, '0.0.0.0')
    await once(everywhere, 'listening')
    t.equal(await bind('127.64.255.1'), 'EADDRINUSE', 'a program on all addresses keeps pods from the port')
    await new Promise((resolve) => everywhere.close(resolve))
  })

  t.test('not where it fails for another reason', async (t) => {
    const free = port === 65535 ? port - 1 : port + 1
    const ports = [{ containerPort: free }]
    await create('fails', { containers: [container(['sh', '-c', 'exit 3'], { ports })] })
    await create('inside', {
      containers: [
        container(listens(POD_IP, free)),
        container(['sh', '-c', 'sleep 1; exit 3'], { name: 'second', ports }),
      ],
    })
    for (const name of ['fails', 'inside']) {
      const hasEnded = async () => {
        const { containerStatuses = [] } = (await client.get<Pod>(pods, { namespace, name })).status ?? {}
        return containerStatuses.some(({ state }) => state?.terminated?.exitCode === 3)
      }
      await until(hasEnded, { what: `the end of ${name}` })
    }
    // Events are written in order: one that comes later shows that none was on its way.
    await create('last', { containers: [container(listens(POD_IP), { ports: [{ containerPort: port }] })] })
    await told('last')
    for (const name of ['fails', 'inside'])
      t.notOk(
        (await eventsOf(name)).some(({ reason }) => reason === 'PortInUse'),
        name,
      )
  })

  t.test('kubestage doctor looks at the ports of pods', async (t) => {
    const doctor = startCommand(t, ['doctor', `--state-dir=${stateDir}`, '-o', 'json'])
    await doctor.ended
    const findings = JSON.parse(doctor.stdout()) as { name: string; state: string; found: string }[]
    const finding = findings.find(({ name }) => name === 'pod ports')
    t.match(finding, { state: 'degraded' })
    t.match(finding?.found, whoHolds)
    const alone = startCommand(t, ['doctor', '--port=0', `--state-dir=${join(stateDir, 'none')}`])
    await alone.ended
    t.match(alone.output(), /programs listen on all addresses with \d+/, 'without a cluster as well')
  })
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** A program that listens on all addresses, as development servers do. */
async function devServer(t: Test): Promise<{ holder: ChildProcess; port: number }> {
  const script = "const s = require('net').createServer().listen(0, () => console.log(s.address().port))"
  const holder = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => holder.kill())
  const [line] = await once(holder.stdout!, 'data')
  return { holder, port: Number(String(line)) }
}
