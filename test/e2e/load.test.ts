/** `kubestage load` against real pods: rollouts with and without lost requests, and what cannot be sent. */
import { createReadStream, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { LoadReport } from '../../cli/load/report.ts'
import type { Termination } from '../../shared/api/termination.ts'
import type { KubeObject, Pod, Service } from '../../shared/api/types.ts'
import type { Deployment, EndpointSlice } from '../../shared/api/workloads/workloads.ts'
import { deployments, endpointSlices, pods, services, terminations } from '../../shared/client/resources.ts'
import type { RecordedLoad } from '../../shared/record/format.ts'
import { readRecord } from '../../shared/record/reader.ts'
import { blames } from '../../ui/story/blame.ts'
import { Story } from '../../ui/story/story.ts'
import { type CommandRun, startCommand, startTestCluster, type TestCluster } from '../harness/cluster.ts'
import { podOf } from '../harness/pods.ts'
import { until } from '../harness/until.ts'

t.jobs = 1
const namespace = 'default'
const port = 5823
/** It ends at once when it is asked to. */
const program = `
const server = require('node:http').createServer((request, response) => {
  if (request.url === '/host') response.writeHead(request.headers.host === 'example.com' && request.headers.tenant === 'a' ? 200 : 500)
  response.end('hello')
})
server.listen(${port}, process.env.POD_IP)
process.on('SIGTERM', () => process.exit(0))`

const deploymentOf = (name: string, sleepSeconds: number): Deployment =>
  ({
    metadata: { name },
    spec: {
      replicas: 2,
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: {
          containers: [
            {
              name: 'server',
              image: 'node:26-slim',
              command: ['node', '--eval', program],
              env: [{ name: 'POD_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } }],
              ports: [{ name: 'web', containerPort: port }],
              readinessProbe: { httpGet: { path: '/', port }, periodSeconds: 1 },
              ...(sleepSeconds > 0 && { lifecycle: { preStop: { sleep: { seconds: sleepSeconds } } } }),
            },
          ],
        },
      },
    },
  }) as unknown as Deployment

const serviceOf = (name: string, spec: object = {}): Service =>
  ({
    metadata: { name },
    spec: { selector: { app: name }, ports: [{ port: 80, targetPort: 'web' }], ...spec },
  }) as Service

interface Stage extends TestCluster {
  load(t: Test, ...args: string[]): CommandRun
  /** What `-o json` printed, and the exit code. */
  report(command: CommandRun): Promise<LoadReport & { code: unknown }>
}

async function stage(t: Test): Promise<Stage> {
  const cluster = await startTestCluster(t)
  return {
    ...cluster,
    load: (t, ...args) => startCommand(t, ['load', ...args, `--state-dir=${cluster.stateDir}`]),
    async report(command) {
      const code = await command.ended
      if (!command.stdout().startsWith('{')) throw new Error(command.output())
      return { ...(JSON.parse(command.stdout()) as LoadReport), code }
    },
  }
}

async function serve({ client }: TestCluster, name: string, sleepSeconds: number): Promise<void> {
  await client.create<KubeObject>(services, serviceOf(name), { namespace })
  await client.create<Deployment>(deployments, deploymentOf(name, sleepSeconds), { namespace })
  await until(() => isRolledOut({ client }, name), { what: `${name} to be available` })
}

async function isRolledOut({ client }: Pick<TestCluster, 'client'>, name: string): Promise<boolean> {
  const { metadata, spec, status } = await client.get<Deployment>(deployments, { namespace, name })
  const isDone = status?.observedGeneration === metadata.generation && status?.updatedReplicas === spec?.replicas
  return isDone && status?.availableReplicas === spec?.replicas && status?.replicas === spec?.replicas
}

/** Updates a Deployment while requests come; resolves when none of its old pods is left. */
async function rollOut(cluster: TestCluster, name: string): Promise<string[]> {
  const { client } = cluster
  const labelSelector = `app=${name}`
  const old = (await client.list<Pod>(pods, { namespace, labelSelector })).items.map(({ metadata }) => metadata.name!)
  const annotations = { version: '2' }
  await client.patch(
    deployments,
    { namespace, name },
    { spec: { template: { metadata: { annotations } } } },
    { type: 'merge' },
  )
  await until(() => isRolledOut(cluster, name), { what: `the rollout of ${name}` })
  const left = async () => (await client.list<Pod>(pods, { namespace, labelSelector })).items
  await until(async () => !(await left()).some(({ metadata }) => old.includes(metadata.name!)), {
    what: 'old pods to go',
  })
  return old
}

const lineOf = (line: unknown): RecordedLoad => line as RecordedLoad

t.test('a rollout', async (t) => {
  const cluster = await stage(t)
  const { client, stateDir } = cluster
  await Promise.all([serve(cluster, 'sudden', 0), serve(cluster, 'patient', 6)])
  const file = join(stateDir, 'rollout.record')
  const recording = startCommand(t, ['record', file, `--state-dir=${stateDir}`])
  await recording.printed('Recording')

  await t.test('without a preStop sleep loses requests, each at its own pod', async (t) => {
    const command = cluster.load(
      t,
      'svc/sudden',
      '--duration=5m',
      '--endpoint-delay=2s',
      '--max-lost-requests=0',
      '-o=json',
    )
    const shown = async () => (await linesOf(file)).some((line) => lineOf(line).answered > 0)
    await until(shown, { what: 'requests in the record' })
    const old = await rollOut(cluster, 'sudden')
    const reached = async () => new Set((await linesOf(file)).map((line) => lineOf(line).uid).filter(Boolean)).size
    await until(async () => (await reached()) === 4, { what: 'requests to the new pods' })
    command.child.kill('SIGINT')
    const report = await cluster.report(command)
    t.equal(report.code, 1, 'more than --max-lost-requests')
    const lossy = report.pods.filter(({ lost }) => lost > 0)
    t.same(lossy.map(({ name }) => name).sort(), old.sort(), 'the pods of the old ReplicaSet, and no other')
    t.equal(report.pods.length, 4)
    t.equal(
      report.lost,
      lossy.reduce((sum, { lost }) => sum + lost, 0),
    )
    t.equal(report.answered + report.lost, report.sent)
    t.ok(report.losses.refused! > 0, JSON.stringify(report.losses))
    const { items } = await client.list<Termination>(terminations, { namespace })
    for (const { name, losses } of lossy) {
      const told = items.find(({ podName }) => podName === name)?.lostRequests ?? []
      t.same(Object.fromEntries(told.map(({ kind, count }) => [kind, count])), losses, `the Termination of ${name}`)
    }
    await recording.stop()
    const story = new Story()
    const lines = await linesOf(file)
    for (const line of lines) story.add(line as never)
    for (const { pod, lost, cut, target } of blames(story)) {
      const found = lossy.find(({ name }) => name === pod?.name)
      t.equal(lost + cut, found?.lost, `the page blames ${target}`)
    }
    t.equal(blames(story).length, lossy.length)
    const losing = lines.map(lineOf).filter(({ type, losses }) => type === 'LOAD' && losses)
    t.ok(losing.every(({ uid, service }) => uid && service === 'sudden'))
  })

  await t.test('with one that is long enough loses none', async (t) => {
    const args = [
      'svc/patient',
      '--port=80',
      '--duration=5m',
      '--endpoint-delay=1s',
      '--max-lost-requests=0',
      '-o=json',
    ]
    const file = join(stateDir, 'patient.record')
    await startCommand(t, ['record', file, `--state-dir=${stateDir}`]).printed('Recording')
    const command = cluster.load(t, ...args)
    const reached = async () => {
      const lines = (await linesOf(file)).map(lineOf).filter(({ service }) => service === 'patient')
      return new Set(lines.map(({ uid }) => uid).filter(Boolean)).size
    }
    await until(async () => (await reached()) > 0, { what: 'requests to the first revision' })
    await rollOut(cluster, 'patient')
    await until(async () => (await reached()) >= 4, { what: 'requests to the second revision' })
    command.child.kill('SIGINT')
    const report = await cluster.report(command)
    t.match(report, { code: 0, lost: 0, losses: {} }, command.output())
    t.ok(report.pods.length >= 4, 'both revisions got requests')
    t.ok(report.latencyMs.p50! > 0 && report.latencyMs.p99! >= report.latencyMs.p50!)
  })

  await t.test('pods and Deployments, headers, and a table', async (t) => {
    const { items } = await client.list<Pod>(pods, { namespace, labelSelector: 'app=patient' })
    const name = items[0]!.metadata.name!
    const args = ['--duration=1s', '--path=/host', '--host=example.com', '--header=tenant: a']
    const table = cluster.load(t, `pod/${name}`, ...args)
    t.equal(await table.ended, 0)
    t.match(table.stdout(), new RegExp(`^POD +SENT +ANSWERED +LOST +P50 +P99 +KINDS\n${name} .* 0 .* ms .*–\nall `))
    const failing = await cluster.report(
      cluster.load(t, 'deploy/patient', '--duration=1s', '--path=/host', '--rate=50', '-o=json'),
    )
    t.match(failing, { code: 0, answered: 0, losses: { '5xx': Number }, target: 'deployment/patient' })
    t.equal(failing.pods.length, 2)
    t.equal(failing.lost, failing.sent)
    const port = cluster.load(t, `pod/${name}`, '--port=admin')
    t.equal(await port.ended, 1)
    t.match(port.output(), `kubestage: pod ${name} has no port admin; it has web (${5823})\n`)
  })

  await t.test('pods that come only later; pods that all go', async (t) => {
    await client.create<KubeObject>(services, serviceOf('late', { clusterIP: 'None' }), { namespace })
    const command = cluster.load(t, 'svc/late', '--duration=5m', '--endpoint-delay=100ms', '-o=json')
    await command.printed('waiting up to 30 s for a pod of service late: its EndpointSlices have no pod')
    await client.create<Deployment>(deployments, { ...deploymentOf('late', 0) }, { namespace })
    await until(() => isRolledOut(cluster, 'late'), { what: 'late to be available' })
    await client.patch(deployments, { namespace, name: 'late' }, { spec: { replicas: 0 } }, { type: 'merge' })
    const ended = async () =>
      (await client.list<Pod>(pods, { namespace, labelSelector: 'app=late' })).items.length === 0
    await until(ended, { what: 'its pods to go' })
    const hears = async () => (await linesOf(file)).some((line) => lineOf(line).losses?.noEndpoint)
    const again = startCommand(t, ['record', file, '--append', `--state-dir=${stateDir}`])
    await until(hears, { what: 'requests that no pod got' })
    await again.stop()
    command.child.kill('SIGINT')
    const { losses, pods: each } = await cluster.report(command)
    t.ok(losses.noEndpoint! > 0)
    t.equal(each.find(({ name }) => name === '')?.lost, losses.noEndpoint)
  })
})

t.test('what cannot be sent', async (t) => {
  const cluster = await stage(t)
  const { client } = cluster
  const create = (name: string, spec: object) =>
    client.create<KubeObject>(services, serviceOf(name, spec), { namespace })
  await create('alias', { type: 'ExternalName', externalName: 'example.com', selector: undefined, ports: undefined })
  await create('dns', { ports: [{ port: 53, protocol: 'UDP' }] })
  await create('headless', { clusterIP: 'None', ports: undefined })
  await create('empty', {})
  await create('foreign', { selector: undefined, ports: [{ port: 80 }] })
  const slice = {
    metadata: { name: 'foreign-1', labels: { 'kubernetes.io/service-name': 'foreign' } },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['198.51.100.7'], conditions: { ready: true } }],
    ports: [{ name: '', port: 80 }],
  }
  await client.create<EndpointSlice>(endpointSlices, slice as EndpointSlice, { namespace })
  const readinessProbe = { exec: { command: ['false'] }, periodSeconds: 1 }
  const unready = podOf({ name: 'unready', command: ['sleep', '60'], readinessProbe })
  await client.create<Pod>(pods, unready, { namespace })
  const refused = async (args: string[], code: number, message: string | RegExp): Promise<void> => {
    const command = cluster.load(t, ...args)
    t.equal(await command.ended, code, command.output())
    t.match(command.output(), message)
  }
  const brief = '--ready-timeout=1s'
  await Promise.all([
    refused(['svc/none'], 1, 'kubestage: services "none" not found\n'),
    refused(['svc/empty', '-n=none'], 1, 'services "empty" not found'),
    refused(['svc/alias'], 1, 'Service alias is an alias of example.com (type ExternalName): it has no pods'),
    refused(['svc/dns'], 1, 'port 53 of Service dns is UDP: requests are HTTP over TCP'),
    refused(
      ['svc/headless'],
      1,
      'Service headless declares no port, so it has no endpoints: send to pod/NAME or deploy/NAME',
    ),
    refused(['svc/empty', '--port=x'], 1, 'Service empty has no port x; it has 80'),
    refused(['svc/empty', brief], 1, /no pod of service empty within 1 s: its EndpointSlices have no pod/),
    refused(['svc/foreign', brief], 1, /no pod of service foreign within 1 s: its EndpointSlices have no pod/),
    refused(
      ['pod/unready', '--port=80', '--ready-timeout=0s', '--duration=1s'],
      1,
      /no pod of pod unready within 0 s: none of its 1 pods is Ready|: no pod runs/,
    ),
    refused(['deploy/none'], 1, 'deployments.apps "none" not found'),
    refused(['shop'], 2, 'invalid target "shop"; use svc/NAME, pod/NAME or deploy/NAME'),
    refused([], 2, 'usage: kubestage load svc/NAME'),
    refused(['svc/empty', '--rate=2000'], 2, '--rate must be a number from 0.1 to 1000, not 2000'),
    refused(['svc/empty', '--duration=2h'], 2, '--duration must be a duration from 1s to 1h'),
    refused(['svc/empty', '--path=http://example.com/'], 2, '--path must be a path such as /items?page=2'),
    refused(['pod/unready', '--port=70000'], 2, '--port must be a port such as 8080 or http, not "70000"'),
    refused(['svc/empty', '--header=x'], 2, '--header must be a header such as "Accept: text/html"'),
  ])
  const waiting = cluster.load(t, 'svc/empty')
  await waiting.printed('waiting up to 30 s')
  waiting.child.kill('SIGINT')
  t.equal(await waiting.ended, 130, 'Ctrl-C before the first request')
})

/** Returns none before the record's first line is complete. */
async function linesOf(file: string): Promise<unknown[]> {
  const lines: unknown[] = []
  if (!readFileSync(file, 'utf8').includes('\n')) return lines
  for await (const line of readRecord(createReadStream(file))) lines.push(line)
  return lines
}
