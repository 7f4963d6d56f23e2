import t from 'tap'
import { startTestApiServer } from '../harness/api-server.ts'

const services = '/api/v1/namespaces/default/services'
const serviceOf = (name: string, nodePort: number) => ({
  metadata: { name },
  spec: { type: 'NodePort', clusterIP: '10.96.7.7', ports: [{ port: 80, nodePort }] },
})

t.test('what a Service had is free as soon as the Service is gone, or has become another', async (t) => {
  const { send } = await startTestApiServer(t)
  const create = async (name: string) =>
    (await send(services, { method: 'POST', body: serviceOf(name, 30_777) })).status
  t.equal(await create('a'), 201)
  t.equal(await create('b'), 422, 'taken')
  t.equal((await send(`${services}/a`, { method: 'DELETE' })).status, 200)
  t.equal(await create('b'), 201)
  const headers = { 'content-type': 'application/merge-patch+json' }
  const spec = { type: 'ExternalName', externalName: 'example.com', clusterIP: null, clusterIPs: null, ports: null }
  t.equal((await send(`${services}/b`, { method: 'PATCH', headers, body: { spec } })).status, 200)
  t.equal(await create('c'), 201)
  t.equal(await create('d'), 422, 'taken again')
})

t.test('what a dry run or a refused Service asked for stays free', async (t) => {
  const { send } = await startTestApiServer(t)
  const create = async (name: string, query = '', body: object = serviceOf(name, 30_778)) =>
    (await send(`${services}${query}`, { method: 'POST', body })).status
  t.equal(await create('a', '?dryRun=All'), 201)
  t.equal(await create('b', '?dryRun=All'), 201, 'as kubectl diff asks again and again')
  const { spec } = serviceOf('c', 30_778)
  t.equal(await create('c', '', { metadata: { name: 'c' }, spec: { ...spec, sessionAffinity: 'X' } }), 422)
  t.equal(
    await create('d', '', { metadata: { name: 'd' }, spec: { ...spec, ports: [{ port: 80, nodePort: 1 }] } }),
    422,
  )
  t.equal(await create('c'), 201, 'corrected')
  t.equal(await create('e'), 422, 'and now it is taken')
})

t.test('families, in the words of a real server', async (t) => {
  const { send } = await startTestApiServer(t)
  const refused = async (spec: object, words: RegExp): Promise<void> => {
    const body = { metadata: { name: 'x' }, spec: { ports: [{ port: 80 }], ...spec } }
    t.match((await send(services, { method: 'POST', body })).body, { message: words })
  }
  const two = ['10.96.7.8', 'fd00::1']
  await refused({ clusterIP: 'fd00::1' }, /clusterIPs\[0\]: .*IPv6 is not configured on this cluster/)
  await refused({ clusterIP: two[0], clusterIPs: two }, /must be 'RequireDualStack' or 'PreferDualStack' when multiple/)
  await refused({ ipFamilies: ['IPv4', 'IPv6'] }, /when multiple IP families are specified/)
  await refused({ ipFamilyPolicy: 'RequireDualStack' }, /this cluster is not configured for dual-stack services/)
})
