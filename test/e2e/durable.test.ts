import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import type { ConfigMap, KubeObject, Pod } from '../../shared/api/types.ts'
import { pods } from '../../shared/client/resources.ts'
import { startCommand, startTestCluster } from '../harness/cluster.ts'
import { podOf, politeScript } from '../harness/pods.ts'
import { until } from '../harness/until.ts'

const configmaps = { group: '', version: 'v1', plural: 'configmaps' }
const crds = { group: 'apiextensions.k8s.io', version: 'v1', plural: 'customresourcedefinitions' }
const widgets = { group: 'example.com', version: 'v1', plural: 'widgets' }
const namespace = 'default'

const folder = mkdtempSync(join(tmpdir(), 'kubestage-durable-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))

t.test('a cluster goes on where it was killed', async (t) => {
  const storage = `--storage=sqlite:${join(folder, 'state.db')}`
  const before = await startTestCluster(t, storage)
  await before.client.create(crds, widgetDefinition)
  const widget = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'w' }, spec: { size: 3 } }
  await until(() => before.client.create(widgets, widget, { namespace }).catch(() => undefined), {
    what: 'widgets to be served',
  })
  const first = await before.client.create<ConfigMap>(configmaps, { metadata: { name: 'a' } }, { namespace })
  await before.client.create<ConfigMap>(configmaps, { metadata: { name: 'b' } }, { namespace })
  await before.client.delete(configmaps, { namespace, name: 'b' })
  await before.client.create<Pod>(pods, podOf({ name: 'web', command: ['sh', '-c', politeScript] }), { namespace })
  const running = await until(() => runningPod(before.client.get<Pod>(pods, { namespace, name: 'web' })), {
    what: 'the pod to run',
  })
  before.process.child.kill('SIGKILL')
  await before.process.ended

  const { client } = await startTestCluster(t, storage)
  t.match(await client.get(widgets, { namespace, name: 'w' }), { spec: { size: 3 } })
  const kept = await client.get<ConfigMap>(configmaps, { namespace, name: 'a' })
  t.same(kept, first, 'the same object, at the same resourceVersion')

  const seen: string[] = []
  const stopping = new AbortController()
  const { resourceVersion } = first.metadata
  for await (const { type, object } of client.watch<KubeObject>(configmaps, {
    namespace,
    resourceVersion,
    fieldSelector: 'metadata.name!=kube-root-ca.crt',
    signal: stopping.signal,
  })) {
    seen.push(`${type} ${object.metadata.name}`)
    if (seen.length === 2) await client.create(configmaps, { metadata: { name: 'c' } }, { namespace })
    if (seen.length === 3) stopping.abort()
  }
  t.same(seen, ['ADDED b', 'DELETED b', 'ADDED c'], 'a watch goes on as if nothing had been')

  const restarted = await until(
    async () => {
      const pod = await client.get<Pod>(pods, { namespace, name: 'web' })
      const { phase, containerStatuses } = pod.status ?? {}
      return phase === 'Running' && containerStatuses?.[0]?.restartCount === 1 ? pod : undefined
    },
    { what: 'the pod to run again, as after a restart of its machine' },
  )
  t.equal(restarted.metadata.uid, running.metadata.uid)

  const second = startCommand(t, ['up', '--port=0', `--state-dir=${join(folder, 'other')}`, storage])
  t.equal(await second.ended, 1)
  t.match(
    second.output(),
    /^kubestage: storage file .*state\.db is in use by another process; stop that one, or name another with --storage\n$/,
  )
})

t.test('many clients that change one object at once lose nothing', async (t) => {
  const storage = `--storage=sqlite:${join(folder, 'many.db')}`
  const { client } = await startTestCluster(t, '--kubelet=false', '--scheduler=false', storage)
  await client.create<ConfigMap>(configmaps, { metadata: { name: 'shared' } }, { namespace })
  const names = Array.from({ length: 100 }, (_, index) => `key-${index}`)
  await Promise.all(
    names.map((name) => client.patch(configmaps, { namespace, name: 'shared' }, { data: { [name]: 'mine' } })),
  )
  const { data } = await client.get<ConfigMap>(configmaps, { namespace, name: 'shared' })
  t.same(Object.keys(data ?? {}).sort(), names.sort())
})

async function runningPod(reading: Promise<Pod>): Promise<Pod | undefined> {
  const pod = await reading
  return pod.status?.phase === 'Running' ? pod : undefined
}

const widgetDefinition = {
  metadata: { name: 'widgets.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'widgets', singular: 'widget', kind: 'Widget' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: { spec: { type: 'object', properties: { size: { type: 'integer' } } } },
          },
        },
      },
    ],
  },
}
