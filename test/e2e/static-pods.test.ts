import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Event, Pod } from '../../shared/api/types.ts'
import { startTestCluster } from '../harness/cluster.ts'
import { until } from '../harness/until.ts'

const PODS = { group: '', version: 'v1', plural: 'pods' }
const EVENTS = { group: '', version: 'v1', plural: 'events' }
const program = ['sh', '-c', "echo up; trap 'exit 0' TERM; while :; do sleep 1000 & wait $!; done"]

t.test('pods of the node itself, and containers added to running ones', async (t) => {
  const { client, stateDir } = await startTestCluster(t)
  const { staticPodPath } = JSON.parse(readFileSync(join(stateDir, 'kubelet', 'config.json'), 'utf8'))
  const file = join(staticPodPath, 'web.yaml')
  const ref = { namespace: 'default', name: 'web-node-1' }
  const now = (): Promise<Pod | undefined> => client.get<Pod>(PODS, ref).catch(() => undefined)
  const running = async (uid?: string): Promise<Pod | undefined> => {
    const pod = await now()
    const runs = pod?.status?.containerStatuses?.[0]?.state?.running && pod.metadata.uid !== uid
    return runs ? pod : undefined
  }
  writeFileSync(
    file,
    `kind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: c, image: sh, command: ${JSON.stringify(program)}}]}\n`,
  )
  const mirror = await until(() => running(), { what: 'the mirror of a running pod' })
  t.match(mirror, {
    metadata: { annotations: { 'kubernetes.io/config.source': 'file' }, ownerReferences: [{ kind: 'Node' }] },
    status: { phase: 'Running' },
  })
  const { containerID } = mirror.status?.containerStatuses?.[0] ?? {}

  await client.delete(PODS, ref)
  const again = await until(() => running(mirror.metadata.uid), { what: 'another mirror' })
  t.equal(again.status?.containerStatuses?.[0]?.containerID, containerID, 'its container knows nothing of it')

  rmSync(file)
  await until(async () => (await now()) === undefined, { what: 'the end of the mirror' })
  await until(
    async () =>
      (await client.list<Event>(EVENTS, { namespace: 'default' })).items.some(
        ({ reason, involvedObject }) => reason === 'Killing' && involvedObject.name === 'web-node-1',
      ),
    { what: 'its container to be ended' },
  )

  await client.create<Pod>(PODS, {
    metadata: { name: 'app', namespace: 'default' },
    spec: { containers: [{ name: 'c', image: 'sh', command: program }] },
  })
  const app = { namespace: 'default', name: 'app' }
  await until(async () => (await client.get<Pod>(PODS, app)).status?.phase === 'Running', { what: 'app' })
  const ephemeralContainers = [{ name: 'look', image: 'sh', command: ['sh', '-c', 'exit 3'] }]
  await client.patch(
    PODS,
    app,
    { spec: { ephemeralContainers } },
    { type: 'merge', subresource: 'ephemeralcontainers' },
  )
  const looked = await until(
    async () => {
      const pod = await client.get<Pod>(PODS, app)
      return pod.status?.ephemeralContainerStatuses?.[0]?.state?.terminated && pod
    },
    { what: 'the end of the ephemeral container' },
  )
  t.match(looked.status, {
    phase: 'Running',
    containerStatuses: [{ ready: true, restartCount: 0 }],
    ephemeralContainerStatuses: [{ name: 'look', state: { terminated: { exitCode: 3 } } }],
  })
})
