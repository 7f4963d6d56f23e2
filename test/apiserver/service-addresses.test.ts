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
