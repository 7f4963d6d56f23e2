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

t.test('pods with the same spec are written in each way, and none changes another', async (t) => {
  const { send } = await startTestApiServer(t)
  const pods = '/api/v1/namespaces/default/pods'
  const env = Array.from({ length: 20 }, (_, i) => ({ name: `SETTING_${i}`, value: `the value of setting ${i}` }))
  const names = ['a', 'b', 'c']
  await send('/api/v1/namespaces/default/serviceaccounts', {
    method: 'POST',
    body: { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default' } },
  })
  const spec = { automountServiceAccountToken: false, containers: [{ name: 'c', image: 'i', env }] }
  for (const name of names) {
    const body = { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec }
    t.equal((await send(pods, { method: 'POST', body })).status, 201)
  }
  type Written = { spec: { containers: { image: string; env: object[] }[]; tolerations: object[] }; status: object }
  const get = async (name: string) => (await send(`${pods}/${name}`)).body as Written
  const patch = async (type: string, target: string, body: object): Promise<Written> => {
    const headers = { 'content-type': `application/${type}` }
    const answer = await send(`${pods}/${target}`, { method: 'PATCH', headers, body })
    t.equal(answer.status, 200, `${type} ${target} ${JSON.stringify(answer.body).slice(0, 300)}`)
    return answer.body as Written
  }
  const before = (await get('a')).spec
  const [merge, strategic] = ['merge-patch+json', 'strategic-merge-patch+json']
  for (let round = 0; round < 4; round++) {
    for (const name of ['a', 'b']) {
      const metadata = { annotations: { round: `${name} ${round}` } }
      t.same((await patch(merge, name, { metadata })).spec, before)
      t.same((await patch(strategic, name, { metadata: { labels: { round: `${round}` } } })).spec, before)
      t.same((await patch(strategic, `${name}/status`, { status: { message: `${round}` } })).spec, before)
      t.same(
        (await patch('json-patch+json', name, [{ op: 'add', path: '/metadata/labels/x', value: `${round}` }])).spec,
        before,
      )
    }
  }
  t.match(await get('b'), { status: { phase: 'Pending', message: '3' } })
  const containers = [{ name: 'c', image: 'other' }]
  const tolerations = [...before.tolerations, { key: 'x', operator: 'Exists' }]
  t.match(await patch(strategic, 'a', { spec: { containers } }), { spec: { containers: [{ image: 'other', env }] } })
  t.match(await patch(merge, 'a', { spec: { tolerations } }), { spec: { tolerations } })
  await patch('json-patch+json', 'b', [{ op: 'replace', path: '/spec/containers/0/image', value: 'third' }])
  t.equal(
    (await send(`${pods}/c/resize`, { method: 'PATCH', headers: { 'content-type': `application/${merge}` }, body: {} }))
      .status,
    200,
  )
  t.same((await get('c')).spec, before)
  t.same((await get('b')).spec, { ...before, containers: [{ ...before.containers[0], image: 'third' }] })

  const put = { ...(await get('c')), metadata: { name: 'c', labels: { put: 'yes' } } }
  t.match(await send(`${pods}/c`, { method: 'PUT', body: put }), { status: 200, body: { spec: before } })
  const ephemeralContainers = [{ name: 'e', image: 'i' }]
  const debugged = await patch(strategic, 'c/ephemeralcontainers', { spec: { ephemeralContainers } })
  t.match(debugged.spec, { ephemeralContainers })
  const bound = { apiVersion: 'v1', kind: 'Binding', metadata: { name: 'c' }, target: { kind: 'Node', name: 'n' } }
  t.equal((await send(`${pods}/c/binding`, { method: 'POST', body: bound })).status, 201)
  t.match(await patch(merge, 'c', { metadata: { annotations: { last: 'yes' } } }), { spec: { nodeName: 'n' } })
})
