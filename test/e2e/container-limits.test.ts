/** What a container writes is bounded: its layer and its logs. Each limit that it reaches is counted and logged; a full layer is an event. */
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { possibleIsolation } from '../../kubelet/runtime/process/index.ts'
import type { Event, Pod } from '../../shared/api/types.ts'
import { pods } from '../../shared/client/resources.ts'
import { startTestCluster } from '../harness/cluster.ts'
import { getText, podOf, politeScript } from '../harness/pods.ts'
import { skipOrFail } from '../harness/skip.ts'
import { until } from '../harness/until.ts'

const namespace = 'default'
const events = { group: '', version: 'v1', plural: 'events' }
const node = '/api/v1/nodes/node-1/proxy'
t.setTimeout(120_000)

t.test('limits of containers', async (t) => {
  const { files } = await possibleIsolation({ rootDir: tmpdir() })
  if (files !== 'own') return skipOrFail(t, `containers have the machine's files here (${files})`)
  const flags = ['--container-layer-size=1Mi', '--container-log-max-size=64Ki', '--container-log-max-files=2']
  const cluster = await startTestCluster(t, ...flags)
  const { client } = cluster
  const log = join(cluster.stateDir, 'logs', 'kubelet.log')
  const fill = 'dd if=/dev/zero of=/full bs=64k count=64 2>/tmp/said; echo "dd: $?"'
  const writer = (name: string, script: string, limit?: string): Pod =>
    podOf({
      name,
      command: [],
      spec: {
        terminationGracePeriodSeconds: 1,
        containers: [
          {
            name: 'main',
            image: 'busybox:1.37',
            command: ['sh', '-c', `${script}\n${politeScript}`],
            ...(limit && { resources: { limits: { 'ephemeral-storage': limit } } }),
          },
        ],
      },
    })
  await client.create(pods, writer('full', `${fill}; yes | head -c 400000`), { namespace })
  await client.create(pods, writer('limited', `${fill}; exec sleep 1000`, '512Ki'), { namespace })
  const count = async (name: string): Promise<number> => {
    const page = await getText(cluster, `${node}/metrics`)
    return Number(new RegExp(`^kubestage_limits_reached_total\\{limit="${name}"\\} (\\d+)$`, 'm').exec(page)?.[1])
  }

  await t.test('a full layer is an event of the pod, in the metric and in the log', async (t) => {
    const event = await until(
      async () => {
        const { items } = await client.list<Event>(events, { namespace, fieldSelector: 'reason=LayerFull' })
        return items.find(({ involvedObject }) => involvedObject.name === 'full')
      },
      { what: 'an event about the layer' },
    )
    t.match(event, { type: 'Warning', involvedObject: { fieldPath: 'spec.containers{main}' } })
    t.match(event.message, /--container-layer-size.*No space left on device/)
    t.ok((await count('container-layer-size')) >= 1)
    t.match(readFileSync(log, 'utf8'), /"limit":"container-layer-size","pod":"default\/full","container":"main"/)
  })

  await t.test('it is ephemeral storage of the container and its pod', async (t) => {
    const summary = JSON.parse(await getText(cluster, `${node}/stats/summary`))
    const pod = summary.pods.find(({ podRef }: { podRef: { name: string } }) => podRef.name === 'full')
    t.ok(pod.containers[0].rootfs.usedBytes > 900_000, `${pod.containers[0].rootfs.usedBytes}`)
    t.ok(pod['ephemeral-storage'].usedBytes > 900_000)
  })

  await t.test('and counts for the limit of the pod', async (t) => {
    const evicted = await until(
      async () => {
        const pod = await client.get<Pod>(pods, { namespace, name: 'limited' })
        return pod.status?.reason === 'Evicted' ? pod : undefined
      },
      { what: 'the eviction of limited' },
    )
    t.match(evicted.status?.message, 'Pod ephemeral local storage usage exceeds the total limit of containers 512Ki. ')
  })

  await t.test('log files begin anew, and the oldest is removed', async (t) => {
    await until(async () => (await count('container-log-max-files')) >= 1, { what: 'a log file that is removed' })
    t.ok((await count('container-log-max-size')) >= 2)
    t.match(readFileSync(log, 'utf8'), /"limit":"container-log-max-files","pod":"default\/full","container":"main"/)
  })
})
