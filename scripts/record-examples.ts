// Makes the records of docs/records: three ways to end, and a rollout that loses requests. Real clusters, real
// processes. What no picture shows is left out, so that the files stay small.
import { createReadStream, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadAll } from 'js-yaml'
import { copyRecord } from '../cli/record/copy.ts'
import type { Cluster } from '../library/cluster.ts'
import { resources, startCluster } from '../library/index.ts'
import type { KubeObject, Pod } from '../shared/api/types.ts'
import type { Deployment, EndpointSlice } from '../shared/api/workloads/workloads.ts'
import { realClock } from '../shared/clock/real-clock.ts'
import type { RecordedLoad } from '../shared/record/format.ts'
import { readRecord } from '../shared/record/reader.ts'
import { RecordWriter } from '../shared/record/writer.ts'
import { trimmedRecord } from './trimmed-record.ts'

const root = join(import.meta.dirname, '..')
const namespace = 'default'

/** Runs a scene on a cluster of its own, and writes what its record has of it. */
async function record(name: string, title: string, scene: (cluster: Cluster) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'kubestage-'))
  const file = join(folder, 'record')
  await using cluster = await startCluster()
  const stop = new AbortController()
  const begun = Promise.withResolvers<void>()
  const open = async (): Promise<RecordWriter> => {
    begun.resolve()
    return RecordWriter.create(file)
  }
  const { access } = cluster
  const parts = { access, title, by: 'kubestage', clock: realClock, signal: stop.signal, open }
  const copying = copyRecord({ ...parts, say: (line) => process.stderr.write(`${line}\n`) })
  await begun.promise
  await scene(cluster)
  await realClock.sleep(700)
  stop.abort()
  await copying
  const lines: string[] = []
  for await (const line of readRecord(createReadStream(file), { name: file })) {
    const kept = trimmedRecord(line)
    if (kept) lines.push(JSON.stringify(kept))
  }
  rmSync(folder, { recursive: true })
  const out = join(root, 'docs', 'records', `${name}.ndjson`)
  writeFileSync(out, `${lines.join('\n')}\n`)
  process.stdout.write(`${out}: ${lines.length} lines\n`)
}

const isReady = ({ status }: Pod): boolean =>
  status?.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True') ?? false

await record('three-ends', 'A pod with three containers', async (cluster) => {
  const target = { namespace, name: 'three' }
  const text = readFileSync(join(root, 'examples', 'tour', 'three-ends.yaml'), 'utf8')
  const [service, pod] = loadAll(text) as [KubeObject, Pod]
  await cluster.client.create(resources.services, service, target)
  await cluster.client.create(resources.pods, pod, target)
  await cluster.waitFor<Pod>(resources.pods, target, isReady)
  await cluster.client.delete(resources.pods, target, { reason: 'Update' })
  await cluster.waitForDeleted(resources.pods, target)
})

const port = 5823
const program = `
const server = require('node:http').createServer((request, response) => response.end('hello'))
server.listen(${port}, process.env.POD_IP)
process.on('SIGTERM', () => process.exit(0))`
const labels = { app: 'web' }
const deployment = (version: string): Deployment =>
  ({
    metadata: { name: 'web' },
    spec: {
      replicas: 3,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          containers: [
            {
              name: 'server',
              image: 'node:26-slim',
              command: ['node', '--eval', program],
              env: [
                { name: 'VERSION', value: version },
                { name: 'POD_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
              ],
              readinessProbe: { httpGet: { path: '/', port }, periodSeconds: 1 },
            },
          ],
        },
      },
    },
  }) as unknown as Deployment

/** Clients hear so much later which pods a Service has: proxies and balancers take their time. */
const newsDelayMs = 800
const betweenMs = 25
const intervalMs = 250

/** Requests in turn to the pods of a Service, as clients know them; each interval is told to the record. */
async function load(cluster: Cluster, signal: AbortSignal): Promise<void> {
  let known: string[] = []
  const learn = async (): Promise<void> => {
    const changes = cluster.client.watch<EndpointSlice>(resources.endpointSlices, { namespace, signal })
    for await (const { object } of changes) {
      if (!object.metadata.name?.startsWith('web-')) continue
      const ready = (object.endpoints ?? []).filter(({ conditions }) => conditions?.ready)
      const addresses = ready.flatMap(({ addresses }) => addresses)
      realClock.setTimer(newsDelayMs, () => (known = addresses))
    }
  }
  learn().catch(() => {})
  for (let turn = 0, next = fresh(); !signal.aborted; turn++) {
    const address = known[turn % Math.max(known.length, 1)]
    if (address) void ask(address).then((outcome) => next[outcome]++)
    await realClock.sleep(betweenMs)
    if (realClock.now() - next.sinceMs < intervalMs) continue
    const { sinceMs, ...counts } = next
    next = fresh()
    const line: RecordedLoad = {
      type: 'LOAD',
      at: new Date(sinceMs).toISOString(),
      seconds: intervalMs / 1000,
      target: 'service/web',
      namespace,
      ...counts,
      slowestMs: 0,
    }
    await cluster.inject({ method: 'POST', url: '/kubestage/v1/record', payload: `${JSON.stringify(line)}\n` })
  }
}

const fresh = () => ({ sinceMs: realClock.now(), answered: 0, lost: 0, cut: 0 })

const ask = (host: string): Promise<'answered' | 'lost' | 'cut'> =>
  new Promise((resolve) => {
    let isConnected = false
    const asked = request({ host, port, agent: false, timeout: 2_000 }, (response) => {
      response.resume().on('end', () => resolve('answered'))
    })
    asked.on('socket', (socket) => socket.once('connect', () => (isConnected = true)))
    asked.on('timeout', () => asked.destroy())
    asked.on('error', () => resolve(isConnected ? 'cut' : 'lost')).end()
  })

await record('rollout', 'A rollout that loses requests', async (cluster) => {
  const target = { namespace, name: 'web' }
  const isDone = ({ metadata, status, spec }: Deployment): boolean =>
    status?.observedGeneration === metadata.generation &&
    status?.updatedReplicas === spec.replicas &&
    status?.availableReplicas === spec.replicas &&
    status?.replicas === spec.replicas
  const service = { metadata: { name: 'web' }, spec: { selector: labels, ports: [{ port: 80, targetPort: port }] } }
  await cluster.client.create<KubeObject>(resources.services, service, target)
  await cluster.client.create<Deployment>(resources.deployments, deployment('1'), target)
  await cluster.waitFor<Deployment>(resources.deployments, target, isDone)
  const stop = new AbortController()
  const loading = load(cluster, stop.signal)
  await realClock.sleep(1_800)
  await cluster.client.patch<Deployment>(resources.deployments, target, { spec: deployment('2').spec })
  await cluster.waitFor<Deployment>(resources.deployments, target, isDone)
  await realClock.sleep(1_500)
  stop.abort()
  await loading
})
