/** The examples of docs/plugins.md do what the page says, and the page shows them as they are. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { type ClusterPlugin, resources } from '../../library/index.ts'
import { repository } from '../harness/cluster.ts'
import { readPage } from '../harness/doc-page.ts'
import { scratchFolder } from '../harness/scratch.ts'
import { until } from '../harness/until.ts'
import { namespace, outside, start } from './stage.ts'

const folder = join(repository, 'examples', 'plugins')
const example = async (file: string): Promise<ClusterPlugin> => (await import(join(folder, file))).default

t.test('an endpoint beside the API', async (t) => {
  const cluster = await start(t, { simulatedNodes: 2, plugins: [await example('pods-by-node.ts')] })
  const pod = { spec: { containers: [{ name: 'main', image: 'any' }] } }
  for (const [name, nodeName] of [
    ['a', 'simulated-1'],
    ['b', 'simulated-2'],
    ['c', 'simulated-2'],
  ]) {
    const spec = { ...pod.spec, nodeName }
    await cluster.client.create(resources.pods, { metadata: { name, namespace }, spec } as never)
  }
  t.same((await cluster.inject({ url: '/pods-by-node' })).json(), { 'simulated-1': 1, 'simulated-2': 2 })
  t.same((await cluster.inject({ url: '/pods-by-node?namespace=other' })).json(), {})
})

t.test('every third renewal of a Lease fails with 503', async (t) => {
  const cluster = await start(t, { apiOnly: true, plugins: [await example('lease-renewals.mjs')] })
  const client = outside(t, cluster)
  await client.create(resources.leases, { metadata: { name: 'lead', namespace }, spec: { renewTime: null } } as never)
  const renew = () => client.patch(resources.leases, { namespace, name: 'lead' }, { spec: { holderIdentity: 'me' } })
  const codes: number[] = []
  for (let i = 0; i < 6; i++)
    codes.push(
      await renew().then(
        () => 200,
        ({ code }) => code,
      ),
    )
  t.same(codes, [200, 200, 503, 200, 200, 503])
  await t.resolves(client.get(resources.leases, { namespace, name: 'lead' }), 'reads go on')
})

t.test('an audit log', async (t) => {
  const file = join(scratchFolder(t, 'audit'), 'audit.jsonl')
  process.env.AUDIT_LOG = file
  t.teardown(() => delete process.env.AUDIT_LOG)
  const cluster = await start(t, { apiOnly: true, plugins: [await example('audit-log.mjs')] })
  const client = outside(t, cluster)
  const watching = new AbortController()
  await client.list(resources.configMaps, { namespace })
  await client.get(resources.pods, { namespace, name: 'none' }).catch(() => {})
  for await (const _ of client.watch(resources.namespaces, { signal: watching.signal })) watching.abort()
  await cluster.inject({ url: '/version', user: { name: 'jane' } })
  const lines = () => readFileSync(file, 'utf8').split('\n').slice(0, -1)
  await until(() => lines().length === 4, { what: 'a line for each request' })
  const summary = lines().map((line) => {
    const { user, verb, resource, path, code } = JSON.parse(line)
    return `${user} ${verb} ${resource?.resource ?? path} ${code}`
  })
  t.same(summary.sort(), [
    'jane get /version 200',
    'kubernetes-admin get pods 404',
    'kubernetes-admin list configmaps 200',
    'kubernetes-admin watch namespaces 200',
  ])
})

t.test('the page shows the files', (t) => {
  const { blocks } = readPage('docs/plugins.md')
  for (const file of ['pods-by-node.ts', 'lease-renewals.mjs', 'audit-log.mjs']) {
    const text = readFileSync(join(folder, file), 'utf8').trim()
    t.ok(
      blocks.some((block) => block.text.trim() === text),
      file,
    )
  }
  t.end()
})
