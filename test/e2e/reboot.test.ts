/** The machine below the pods goes, and comes back: their sandboxes are lost, and pods begin again as after a reboot of a real node. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { ContainerStatus, Event, Node, Pod, WatchEvent } from '../../shared/api/types.ts'
import type { Client } from '../../shared/client/client.ts'
import { loadKubeconfig } from '../../shared/client/kubeconfig.ts'
import { events, nodes, pods } from '../../shared/client/resources.ts'
import { createRestClient } from '../../shared/client/rest-client.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { startCommand } from '../harness/cluster.ts'
import { isReady, podOf, politeScript } from '../harness/pods.ts'
import { killIfThere, processesWith } from '../harness/processes.ts'
import { scratchFolder } from '../harness/scratch.ts'
import { until } from '../harness/until.ts'

const namespace = 'default'
const image = 'busybox:1.37'
const command = ['sh', '-c', politeScript]
const done = ['sh', '-c', 'exit 0']

const specs: Record<string, Partial<Pod['spec']>> = {
  always: {
    initContainers: [
      { name: 'first', image, command: done },
      { name: 'side', image, command, restartPolicy: 'Always' },
    ],
  },
  never: { restartPolicy: 'Never' },
  'on-failure': {
    restartPolicy: 'OnFailure',
    containers: [
      { name: 'main', image, command },
      { name: 'done', image, command: done },
    ],
  },
  'all-done': { restartPolicy: 'OnFailure', containers: [{ name: 'main', image, command: done }] },
}

async function start(t: Test, stateDir: string): Promise<Client> {
  const storage = `--storage=sqlite:${join(stateDir, 'state.db')}`
  const up = startCommand(t, ['up', '--port=0', `--state-dir=${stateDir}`, storage])
  await up.printed('is ready')
  const client = createRestClient({ ...(await loadKubeconfig(join(stateDir, 'kubeconfig'))), clock: realClock })
  t.teardown(() => client.close())
  return client
}

const podNamed = (client: Client, name: string): Promise<Pod> => client.get<Pod>(pods, { namespace, name })
const theNode = (client: Client): Promise<Node> => client.get<Node>(nodes, { name: 'node-1' })
const statusOf = (pod: Pod, container: string): ContainerStatus | undefined =>
  [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])].find(
    ({ name }) => name === container,
  )

/** Starts all pods; resolves when each has come as far as it does by itself. */
async function startPods(client: Client): Promise<Map<string, Pod>> {
  for (const [name, spec] of Object.entries(specs))
    await client.create(pods, podOf({ name, command, spec }), { namespace })
  const settled = async (name: string): Promise<Pod | undefined> => {
    const pod = await podNamed(client, name)
    if (name === 'all-done') return pod.status?.phase === 'Succeeded' ? pod : undefined
    if (name === 'on-failure')
      return statusOf(pod, 'done')?.state?.terminated && statusOf(pod, 'main')?.state?.running ? pod : undefined
    return isReady(pod) ? pod : undefined
  }
  const found = Object.keys(specs).map(
    async (name): Promise<[string, Pod]> => [name, await until(() => settled(name), { what: `${name} to settle` })],
  )
  return new Map(await Promise.all(found))
}

interface Before {
  pods: Map<string, Pod>
  node: Node
}

/** What a reboot of a real node does to pods, and what it leaves. */
async function assertRebooted(t: Test, client: Client, before: Before): Promise<void> {
  const was = (name: string): Pod => before.pods.get(name)!
  const always = await until(
    async () => {
      const pod = await podNamed(client, 'always')
      return isReady(pod) && statusOf(pod, 'main')?.restartCount === 1 ? pod : undefined
    },
    { what: 'the pod to be ready again' },
  )
  t.equal(always.metadata.uid, was('always').metadata.uid)
  const again = { restartCount: 1, state: { terminated: { exitCode: 0 } } }
  t.match(statusOf(always, 'first'), again, 'its init containers run again')
  t.match(statusOf(always, 'side'), { restartCount: 1, state: { running: {} } })
  t.match(statusOf(always, 'main')?.lastState?.terminated, { exitCode: 255, reason: 'Unknown' })
  t.ok(always.status?.podIP)
  t.not(always.status?.podIP, was('always').status?.podIP, 'its address is new')
  const changes = await statusesOf(client, was('always'), 'PodReadyToStartContainers')
  t.same(changes, ['True', 'False', 'True'], 'PodReadyToStartContainers is False, and True again')

  const never = await until(
    async () => {
      const pod = await podNamed(client, 'never')
      return pod.status?.phase === 'Failed' ? pod : undefined
    },
    { what: 'the pod that is never restarted to fail' },
  )
  t.match(statusOf(never, 'main'), { restartCount: 0, state: { terminated: { exitCode: 255, reason: 'Unknown' } } })
  const onFailure = await until(
    async () => {
      const pod = await podNamed(client, 'on-failure')
      return statusOf(pod, 'main')?.state?.running && statusOf(pod, 'main')?.restartCount === 1 ? pod : undefined
    },
    { what: 'the failed container to be restarted' },
  )
  t.match(statusOf(onFailure, 'done'), { restartCount: 0, state: { terminated: { exitCode: 0 } } }, 'done is done')
  t.same((await podNamed(client, 'all-done')).status, was('all-done').status, 'what had ended is left as it is')

  const node = await until(
    async () => {
      const found = await theNode(client)
      return found.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True')
        ? found
        : undefined
    },
    { what: 'the node to be ready' },
  )
  const bootId = node.status?.nodeInfo?.bootID ?? ''
  t.match(bootId, /^[0-9a-f-]{36}$/)
  t.not(bootId, before.node.status?.nodeInfo?.bootID)
  await isReported(client, 'node-1', 'Warning', `Rebooted: Node node-1 has been rebooted, boot id: ${bootId}`)
  await isReported(client, 'node-1', 'Normal', 'NodeNotReady: Node node-1 status is now: NodeNotReady')
  t.same(await statusesOf(client, before.node, 'Ready'), ['True', 'False', 'True'])
}

/** How a condition changed since an object was read, its first status included. */
async function statusesOf(client: Client, since: Pod | Node, type: string): Promise<string[]> {
  const { name, resourceVersion } = since.metadata
  const statusIn = (object: Pod | Node): string =>
    object.status?.conditions?.find((condition) => condition.type === type)?.status ?? ''
  const found = [statusIn(since)]
  const stopping = new AbortController()
  const [resource, place] = 'spec' in since && since.metadata.namespace ? [pods, { namespace }] : [nodes, {}]
  const query = { ...place, resourceVersion, fieldSelector: `metadata.name=${name}`, signal: stopping.signal }
  const collect = async (): Promise<void> => {
    for await (const { object } of client.watch<Pod | Node>(resource, query) as AsyncIterable<WatchEvent<Pod | Node>>) {
      const status = statusIn(object)
      if (status !== found.at(-1)) found.push(status)
    }
  }
  const collecting = collect()
  await until(() => found.length >= 3, { what: `${type} of ${name} to change twice` })
  stopping.abort()
  await collecting.catch(() => {})
  return found
}

const isReported = (client: Client, name: string, type: string, wanted: string) =>
  until(
    async () =>
      (await client.list<Event>(events)).items.some(
        (event) =>
          event.involvedObject.name === name &&
          event.type === type &&
          `${event.reason}: ${event.message}`.startsWith(wanted),
      ),
    { what: `${wanted}, of ${name}` },
  )

t.test('kill -9 of everything, and a new start', async (t) => {
  const stateDir = scratchFolder(t, 'reboot')
  const client = await start(t, stateDir)
  const before = { pods: await startPods(client), node: await theNode(client) }
  for (const pid of processesWith(stateDir)) killIfThere(pid)
  await until(() => processesWith(stateDir).length === 0, { what: 'all processes to end' })
  const after = await start(t, stateDir)
  await assertRebooted(t, after, before)
  const message = 'SandboxChanged: Pod sandbox changed, it will be killed and re-created.'
  await isReported(after, 'always', 'Normal', message)
})

t.test('kubestage node reboot', async (t) => {
  const stateDir = scratchFolder(t, 'reboot')
  const client = await start(t, stateDir)
  const before = { pods: await startPods(client), node: await theNode(client) }
  const reboot = startCommand(t, ['node', 'reboot', 'node-1', `--state-dir=${stateDir}`])
  t.equal(await reboot.ended, 0)
  t.equal(reboot.output(), 'node-1 has rebooted; its pods start again\n')
  await assertRebooted(t, client, before)
  await isReported(client, 'always', 'Normal', 'SandboxChanged: Pod sandbox changed')

  const bootId = async (): Promise<string | undefined> => (await theNode(client)).status?.nodeInfo?.bootID
  const second = await bootId()
  for (const word of ['lose', 'reboot'])
    t.equal(await startCommand(t, ['node', word, 'node-1', `--state-dir=${stateDir}`]).ended, 0, word)
  t.not(await bootId(), second, 'a lost node is heard of again')
  const again = async (): Promise<boolean> => {
    const pod = await podNamed(client, 'always')
    return isReady(pod) && statusOf(pod, 'main')?.restartCount === 2
  }
  await until(again, { what: 'its pod to be ready after the second reboot' })
})
