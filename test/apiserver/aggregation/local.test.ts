import type { V1APIService } from '@kubernetes/client-node'
import t from 'tap'
import { resources } from '../../../apiserver/resources/index.ts'
import type { WithMeta } from '../../../shared/api/types.ts'
import { startTestControlPlane } from '../../harness/control-plane.ts'
import { until } from '../../harness/until.ts'

type APIService = WithMeta<V1APIService>

const apiServices = { group: 'apiregistration.k8s.io', version: 'v1', plural: 'apiservices' }
const definitions = { group: 'apiextensions.k8s.io', version: 'v1', plural: 'customresourcedefinitions' }

/** The group of APIServices itself, and the one for which clients make an APIService of their own. */
const withoutService = new Set(['v1.apiregistration.k8s.io', 'v1beta1.metrics.k8s.io'])

const definition = (versions: string[]) => ({
  metadata: { name: 'sheep.example.com' },
  spec: {
    group: 'example.com',
    names: { plural: 'sheep', kind: 'Sheep' },
    scope: 'Namespaced',
    versions: versions.map((name, index) => ({
      name,
      served: true,
      storage: index === 0,
      schema: { openAPIV3Schema: { type: 'object' } },
    })),
  },
})

t.test('APIServices of group versions that the server serves itself', async (t) => {
  const { client } = await startTestControlPlane(t, { controllers: [] })
  const find = (name: string) => client.get<APIService>(apiServices, { name }).catch(() => undefined)

  await t.test('each built-in one is there, as a real server has it', async (t) => {
    const { items } = await client.list<APIService>(apiServices)
    const served = new Set(resources.map(({ group, version }) => `${version}.${group}`))
    const expected = [...served].filter((name) => !withoutService.has(name)).sort()
    const named = 'a built-in group version has a row in apiserver/aggregation/priorities.ts'
    t.same(items.map(({ metadata }) => metadata.name).sort(), expected, named)
    t.match(await find('v1.apps'), {
      metadata: { name: 'v1.apps', labels: { 'kube-aggregator.kubernetes.io/automanaged': 'onstart' } },
      spec: { group: 'apps', version: 'v1', groupPriorityMinimum: 17800, versionPriority: 15 },
      status: {
        conditions: [
          { type: 'Available', status: 'True', reason: 'Local', message: 'Local APIServices are always available' },
        ],
      },
    })
    t.match((await find('v1.'))?.spec, { version: 'v1', groupPriorityMinimum: 18000, versionPriority: 1 })
    t.notOk(await find('v1.apiregistration.k8s.io'), 'the group of APIServices has none')
  })

  await t.test('those of custom resources come and go with the definition, and come back', async (t) => {
    await client.create(definitions, definition(['v1', 'v1beta1']))
    await until(async () => (await find('v1.example.com')) && (await find('v1beta1.example.com')), { what: 'both' })
    t.match(await find('v1.example.com'), {
      metadata: { labels: { 'kube-aggregator.kubernetes.io/automanaged': 'true' } },
      spec: { group: 'example.com', version: 'v1', groupPriorityMinimum: 1000, versionPriority: 100 },
      status: { conditions: [{ reason: 'Local' }] },
    })
    const { uid } = (await find('v1.example.com'))!.metadata
    await client.delete(apiServices, { name: 'v1.example.com' })
    await until(async () => ((await find('v1.example.com')) ?? { metadata: { uid } }).metadata.uid !== uid, {
      what: 'a new APIService',
    })
    await client.patch(apiServices, { name: 'v1.example.com' }, { spec: { versionPriority: 7 } })
    await until(async () => (await find('v1.example.com'))?.spec?.versionPriority === 100, { what: 'its priority' })
    await client.patch(definitions, { name: 'sheep.example.com' }, { spec: definition(['v1']).spec })
    await until(async () => !(await find('v1beta1.example.com')), { what: 'the end of v1beta1' })
    await client.delete(definitions, { name: 'sheep.example.com' })
    await until(async () => !(await find('v1.example.com')), { what: 'the end of v1' })
  })
})
