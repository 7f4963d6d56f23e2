/** Limits that the kernel keeps, from the manifest to the status: by --limits cgroup. */
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { openCgroups } from '../../kubelet/runtime/process/cgroups/open-cgroups.ts'
import { possibleIsolation } from '../../kubelet/runtime/process/index.ts'
import type { Event, Node, Pod } from '../../shared/api/types.ts'
import { nodes, pods } from '../../shared/client/resources.ts'
import { startTestCluster } from '../harness/cluster.ts'
import { followPod, getText, isReady, podOf } from '../harness/pods.ts'
import { skipOrFail } from '../harness/skip.ts'
import { until } from '../harness/until.ts'

const namespace = 'default'
const events = { group: '', version: 'v1', plural: 'events' }

async function whyNot(): Promise<string | undefined> {
  const cgroups = await openCgroups(join(tmpdir(), `kubestage-trial-${process.pid}`))
  if (typeof cgroups === 'string') return `no control groups can be made here: ${cgroups}`
  cgroups.remove()
  const { files } = await possibleIsolation({ rootDir: tmpdir() })
  return files === 'own' ? undefined : `containers have the machine's files here (${files})`
}

const limited = (name: string, script: string, resources: object): Pod =>
  podOf({
    name,
    command: [],
    spec: {
      terminationGracePeriodSeconds: 1,
      containers: [{ name: 'main', image: 'busybox:1.37', command: ['sh', '-c', script], resources }],
    },
  })

t.test('limits that the kernel keeps', async (t) => {
  const problem = await whyNot()
  if (problem) return skipOrFail(t, problem)
  const cluster = await startTestCluster(t, '--limits=cgroup')
  const { client } = cluster
  const node = await client.get<Node>(nodes, { name: 'node-1' })
  t.equal(node.metadata.labels?.['kubestage.dev/limits'], 'cpu-memory-pids')

  await t.test('a container that uses up its memory is OOMKilled, in its status and in an event', async (t) => {
    const script = `perl -e 'my $all = "x" x ${200 << 20}; sleep 1000'`
    await client.create(pods, limited('hungry', script, { limits: { memory: '48Mi' } }), { namespace })
    const pod = await until(
      async () => {
        const pod = await client.get<Pod>(pods, { namespace, name: 'hungry' })
        return pod.status?.containerStatuses?.[0]?.lastState?.terminated && pod
      },
      { what: 'it to be restarted' },
    )
    t.match(pod.status?.containerStatuses?.[0]?.lastState?.terminated, { reason: 'OOMKilled', exitCode: 137 })
    const event = await until(
      async () => {
        const { items } = await client.list<Event>(events, { namespace, fieldSelector: 'reason=OOMKilled' })
        return items.find(({ involvedObject }) => involvedObject.name === 'hungry')
      },
      { what: 'an event' },
    )
    t.match(event, { type: 'Warning', involvedObject: { fieldPath: 'spec.containers{main}' }, message: /limit 48Mi/ })
    await client.delete(pods, { namespace, name: 'hungry' })
  })

  await t.test('a resize reaches the running container', async (t) => {
    const resources = { requests: { cpu: '100m', memory: '32Mi' }, limits: { cpu: '200m', memory: '64Mi' } }
    const limit = 'cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null'
    const script = `trap "exit 0" TERM; while :; do ${limit}; sleep 0.1; done`
    await client.create(pods, limited('grows', script, resources), { namespace })
    const followed = await followPod(client, { namespace, name: 'grows' })
    const { status } = await followed.until(isReady, 'to be ready')
    const [before] = status?.containerStatuses ?? []
    const seen = (): Promise<string> => getText(cluster, '/api/v1/namespaces/default/pods/grows/log?tailLines=1')
    await until(async () => (await seen()) === `${64 << 20}\n`, { what: 'the limit of its manifest' })
    const change = (memory: string) =>
      client.patch(
        pods,
        { namespace, name: 'grows' },
        { spec: { containers: [{ name: 'main', resources: { limits: { memory } } }] } },
        { type: 'strategic', subresource: 'resize' },
      )
    await change('96Mi')
    await until(async () => (await seen()) === `${96 << 20}\n`, { what: 'more memory' })
    const after = await followed.until(
      ({ status }) => status?.containerStatuses?.[0]?.resources?.limits?.memory === '96Mi',
      'to tell',
    )
    t.equal(after.status?.containerStatuses?.[0]?.containerID, before?.containerID, 'it was not restarted')
  })

  await t.test('usage is what the kernel counts', async (t) => {
    const page = JSON.parse(await getText(cluster, '/api/v1/nodes/node-1/proxy/stats/summary')) as {
      pods: { podRef: { name: string }; containers: { memory: { usageBytes: number }; cpu: object }[] }[]
    }
    const [container] = page.pods.find(({ podRef }) => podRef.name === 'grows')?.containers ?? []
    t.ok((container?.memory.usageBytes ?? 0) > 0)
  })
})
