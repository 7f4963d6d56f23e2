/** A kubelet alone, joined by a bootstrap token as to any cluster, with addresses for its pods that every API server takes as endpoints. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { V1EndpointSlice } from '@kubernetes/client-node'
import t from 'tap'
import { AddressRange } from '../../shared/api/services/address-range.ts'
import type { Event, Node, WithMeta } from '../../shared/api/types.ts'
import { endpointSlices, events, nodes, pods, services } from '../../shared/client/resources.ts'
import { repository, startTestCluster } from '../harness/cluster.ts'
import { findKubectls } from '../harness/kubectl.ts'
import { followPod, getText, podOf } from '../harness/pods.ts'
import { run } from '../harness/run.ts'
import { scratchFolder } from '../harness/scratch.ts'
import { skipOrFail } from '../harness/skip.ts'
import { until } from '../harness/until.ts'

const name = 'joined'
const namespace = 'default'
const script = join(repository, 'examples', 'real-components', 'join-kubestage-node.sh')
const { cidr } = new AddressRange(`198.19.${process.pid % 256}.${(process.pid >> 8) & 255}/28`)

const web = `require('node:http').createServer((request, response) => response.end('ok')).listen(8080, process.env.KUBESTAGE_POD_IP)`

t.test('joins by a token, serves pods, logs and endpoints, and leaves no route', async (t) => {
  if (findKubectls().length === 0) return skipOrFail(t, 'kubectl is missing')
  const cluster = await startTestCluster(t, '--kubelet=false')
  const { client } = cluster
  const folder = scratchFolder(t, 'joined')
  const isRoot = process.getuid?.() === 0
  const routed = isRoot && (await run('ip', ['route'])) !== undefined
  const env = { ...process.env, KUBECONFIG: cluster.kubeconfig, NODE: name, DIR: folder }
  const child = spawn(script, [`--pod-cidr=${cidr}`], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const output = Promise.all([text(child.stdout), text(child.stderr)])
  const ended = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGTERM')
    await ended
  })
  const isReady = async (): Promise<boolean> => {
    const all = (await client.list<Node>(nodes)).items
    return all.some(({ status }) =>
      status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True'),
    )
  }
  await until(isReady, { what: 'the node to be ready', timeoutMs: 60_000 })

  const pod = podOf({
    name: 'web',
    command: ['node', '-e', web],
    readinessProbe: { httpGet: { port: 8080 }, periodSeconds: 1 },
  })
  await client.create(pods, { ...pod, metadata: { ...pod.metadata, labels: { app: 'web' } } }, { namespace })
  const port = { port: 80, targetPort: 8080 }
  await client.create(services, {
    metadata: { name: 'web', namespace },
    spec: { selector: { app: 'web' }, ports: [port] },
  })
  const { until: untilPod } = await followPod(client, { namespace, name: 'web' })
  const ready = await untilPod(({ status }) => status?.containerStatuses?.[0]?.ready === true, 'to be ready')
  const { podIP = '' } = ready.status ?? {}
  if (routed) t.ok(new AddressRange(cidr).indexOf(podIP) !== undefined, `${podIP} of ${cidr}`)
  else {
    t.equal(podIP, '127.0.0.1', "without root, the node's")
    const said = (await client.list<Event>(events)).items.find(({ reason }) => reason === 'PodAddressesShared')
    t.match(said?.message, `ip route add local ${cidr} dev lo`, 'what to do is said')
  }
  await until(
    async () => {
      const slices = (await client.list<WithMeta<V1EndpointSlice>>(endpointSlices, { namespace })).items
      return slices.some(({ endpoints }) => endpoints?.some(({ addresses }) => addresses.includes(podIP)))
    },
    { what: 'its endpoint' },
  )
  t.equal(
    await getText(cluster, `/api/v1/namespaces/${namespace}/pods/web/log`),
    '',
    'the API server reaches the kubelet',
  )
  const { mode } = statSync(join(folder, 'kubeconfig'))
  t.equal(mode & 0o077, 0, 'nobody else reads its key')
  t.match(readFileSync(join(folder, 'kubeconfig'), 'utf8'), /client-certificate-data/)

  child.kill('SIGTERM')
  t.same(await ended, [0, null])
  const [stdout] = await output
  if (!routed) return
  t.notMatch(stdout, /"level":[45]0/, 'no warning')
  t.notMatch((await run('ip', ['route', 'show', 'table', 'local']))?.output, cidr, 'the route is gone')
})
