import t from 'tap'
import { startTestApiServer } from '../harness/api-server.ts'

const path = '/apis/apps/v1/namespaces/default/deployments/web'
const labels = { app: 'web' }
const deployment = (replicas = 1) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web' },
  spec: {
    replicas,
    selector: { matchLabels: labels },
    template: {
      metadata: { labels },
      spec: { containers: [{ name: 'c', image: 'i' }] },
    },
  },
})
type Body = { metadata: { resourceVersion: string; managedFields: { manager: string }[] }; spec: { replicas: number } }

t.test('an apply that changes nothing is known the next time', async (t) => {
  const { send } = await startTestApiServer(t)
  const apply = (body: object | string, parameters = 'fieldManager=one') =>
    send(`${path}?${parameters}`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/apply-patch+yaml' },
      body,
    })
  const versionOf = ({ body }: { body: unknown }): string => (body as Body).metadata.resourceVersion

  const created = await apply(deployment())
  t.equal(created.status, 201)
  for (const time of ['found out', 'known', 'still known']) {
    const again = await apply(deployment())
    t.equal(again.status, 200)
    t.same(again.body, created.body, time)
  }

  const fields = Object.entries(deployment()).map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
  const sloppy = [...fields, 'kind: Deployment'].join('\n')
  for (const time of ['found out', 'known']) {
    const { headers, body } = await apply(sloppy)
    t.match(headers.warning, /already set in map/, `${time}: warned again`)
    t.same(body, created.body)
  }

  const two = await apply(deployment(), 'fieldManager=two')
  t.not(versionOf(two), versionOf(created), 'another manager shares in it')
  t.same((two.body as Body).metadata.managedFields.map(({ manager }) => manager).sort(), ['one', 'two'])
  t.equal(versionOf(await apply(deployment(), 'fieldManager=two')), versionOf(two))
  t.equal((await apply(deployment(2))).status, 409, 'what it shares it cannot change')
  t.equal((await apply(deployment(2))).status, 409, 'a refusal is not remembered')

  const changed = await send(path, {
    method: 'PATCH',
    headers: { 'content-type': 'application/merge-patch+json' },
    body: { spec: { replicas: 3 } },
  })
  t.equal((changed.body as Body).spec.replicas, 3)
  t.equal((await apply(deployment())).status, 409, 'what was known of the version before says nothing of this one')
  const forced = await apply(deployment(), 'fieldManager=one&force=true')
  t.equal((forced.body as Body).spec.replicas, 1)
  t.equal(versionOf(await apply(deployment(), 'fieldManager=one&force=true')), versionOf(forced))
  t.equal(versionOf(await apply(deployment(), 'fieldManager=one&dryRun=All')), versionOf(forced))
  t.equal((await apply('{"kind":"Deployment"')).status, 400)
})
