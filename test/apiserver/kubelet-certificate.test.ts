import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { issueCertificate, type KeyPair } from '../../shared/pki/certificate.ts'
import { startTestApiServer } from '../harness/api-server.ts'

const validity = { notBefore: '2026-01-01T00:00:00Z', notAfter: '2049-01-01T00:00:00Z' }
const kubelet = issueCertificate({ commonName: 'n1', altNames: ['n1'], usage: 'server', ...validity })
const logs = '/api/v1/namespaces/default/pods/p/log'

/** A node whose kubelet answers with a certificate that it signed itself, as a real kubelet does by default. */
async function addNode(
  t: Test,
  { send }: Awaited<ReturnType<typeof startTestApiServer>>,
  pair: KeyPair,
): Promise<void> {
  const node = createServer(pair, (_request, response) => response.end('a line\n')).listen(0, '127.0.0.1')
  t.teardown(() => node.close())
  await once(node, 'listening')
  const status = {
    addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
    daemonEndpoints: { kubeletEndpoint: { Port: (node.address() as AddressInfo).port } },
  }
  await send('/api/v1/nodes', { method: 'POST', body: { metadata: { name: 'n1' }, status } })
  const spec = { nodeName: 'n1', containers: [{ name: 'c', image: 'x' }] }
  await send('/api/v1/namespaces/default/pods', { method: 'POST', body: { metadata: { name: 'p' }, spec } })
}

t.test("a kubelet's certificate is verified only where its authority is known", async (t) => {
  const server = await startTestApiServer(t)
  await addNode(t, server, kubelet)
  t.match(await server.send(logs), { status: 200, body: 'a line\n' }, 'self-signed')
})

t.test('with an authority, a certificate that it did not sign is refused', async (t) => {
  const server = await startTestApiServer(t, {}, undefined, {}, { kubeletCertificateAuthority: true })
  await addNode(t, server, kubelet)
  t.match(await server.send(logs), { status: 500, body: { message: /self-signed certificate/ } })
})
