/** Kinds are watched apart: the garbage collector may hear late that a dependent has other owners than it knew. */
import t from 'tap'
import type { ApiResource, ApiResources, ControllerContext } from '../../controllers/controller.ts'
import { startGarbageCollector } from '../../controllers/garbage-collector/garbage-collector.ts'
import { ignoreNotFound } from '../../shared/api/status/status-error.ts'
import type { ConfigMap, ObjectMeta } from '../../shared/api/types.ts'
import { configMaps, secrets } from '../../shared/client/resources.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { startTestControlPlane } from '../harness/control-plane.ts'
import { countingClient, tapLog } from '../harness/loop.ts'
import { until } from '../harness/until.ts'

const { client } = await startTestControlPlane(t, { controllers: ['-garbage-collector-controller', '*'] })

type Handler = { onAdd(object: { metadata: ObjectMeta }): void; onDelete(object: { metadata: ObjectMeta }): void }

/** A garbage collector that hears only what the test tells it, and tells what it writes. */
function collector() {
  const handlers = new Map<string, Handler>()
  const kinds = [
    { ...secrets, kind: 'Secret', namespaced: true },
    { ...configMaps, kind: 'ConfigMap', namespaced: true },
  ] as ApiResource[]
  const informers = {
    metadata: ({ plural }: ApiResource) => ({
      addHandler: (handler: Handler) => handlers.set(plural, handler),
      get: () => undefined,
    }),
  }
  const { client: counting, writes } = countingClient(client)
  const context = { client: counting, informers, clock: realClock, log: tapLog(t) } as unknown as ControllerContext
  const resources: ApiResources = {
    current: () => kinds,
    follow: ({ onAdd }) => {
      for (const kind of kinds) onAdd(kind)
      return () => {}
    },
  }
  const controller = startGarbageCollector(context, resources)
  t.teardown(() => controller.close())
  const told = (plural: string) => handlers.get(plural) as Handler
  return { told, writes }
}

const namespace = 'default'
const ownerOf = ({ metadata }: { metadata: ObjectMeta }) => [
  { apiVersion: 'v1', kind: 'Secret', name: metadata.name ?? '', uid: metadata.uid ?? '' },
]
const configMap = (name: string, ownerReferences: NonNullable<ObjectMeta['ownerReferences']>) =>
  client.create<ConfigMap>(configMaps, { metadata: { namespace, name, ownerReferences } })
const secret = (name: string) => client.create<{ metadata: ObjectMeta }>(secrets, { metadata: { namespace, name } })
const find = (name: string) => client.get<ConfigMap>(configMaps, { namespace, name }).catch(ignoreNotFound)

t.test('a dependent that was let go, or adopted, is not deleted with the owner that it had', async (t) => {
  const { told, writes } = collector()
  const [gone, living] = [await secret('gone'), await secret('living')]
  const dependents = await Promise.all(['free', 'adopted', 'left'].map((name) => configMap(name, ownerOf(gone))))
  for (const dependent of dependents) told('configmaps').onAdd(dependent)
  await client.patch(configMaps, { namespace, name: 'free' }, { metadata: { ownerReferences: null } })
  await client.patch(configMaps, { namespace, name: 'adopted' }, { metadata: { ownerReferences: ownerOf(living) } })
  // What the owners of the third are is as it was, though not its resource version.
  await client.patch(configMaps, { namespace, name: 'left' }, { data: { key: 'changed' } })
  await client.delete(secrets, { namespace, name: 'gone' })
  told('secrets').onDelete(gone)
  await until(async () => !(await find('left')), { what: 'the dependent of nobody to be deleted' })
  await until(() => writes.filter((write) => write.startsWith('delete ')).length >= 3, {
    what: 'all three to be looked at',
  })
  t.match(await find('free'), { metadata: { name: 'free' } })
  t.match(await find('adopted'), { metadata: { ownerReferences: ownerOf(living) } })
})

t.test('a reference to an owner that is gone goes alone: owners that came meanwhile stay', async (t) => {
  const { told } = collector()
  const [lost, first, second] = [await secret('lost'), await secret('first'), await secret('second')]
  const shared = await configMap('shared', [...ownerOf(lost), ...ownerOf(first)])
  told('configmaps').onAdd(shared)
  const ownerReferences = [...ownerOf(lost), ...ownerOf(first), ...ownerOf(second)]
  await client.patch(configMaps, { namespace, name: 'shared' }, { metadata: { ownerReferences } })
  await client.delete(secrets, { namespace, name: 'lost' })
  told('secrets').onDelete(lost)
  const metadata = await until(
    async () => {
      const now = (await find('shared'))?.metadata
      return now?.ownerReferences?.some(({ name }) => name === 'lost') ? undefined : now
    },
    { what: 'the reference to be removed' },
  )
  t.same(metadata.ownerReferences, [...ownerOf(first), ...ownerOf(second)])
})

t.test('an owner that leaves its dependents alone lets go those, too, that are not heard of yet', async (t) => {
  const { told } = collector()
  const owner = await secret('leaving')
  await configMap('unheard', ownerOf(owner))
  await client.delete(secrets, { namespace, name: 'leaving' }, { propagationPolicy: 'Orphan' })
  told('secrets').onAdd(await client.get<{ metadata: ObjectMeta }>(secrets, { namespace, name: 'leaving' }))
  const isGone = () =>
    client.get(secrets, { namespace, name: 'leaving' }).then(
      () => false,
      () => true,
    )
  await until(isGone, { what: 'the owner to be gone' })
  const { metadata } = (await find('unheard')) ?? {}
  t.equal(metadata?.name, 'unheard')
  t.equal(metadata?.ownerReferences, undefined, 'so that nothing collects it later')
})
