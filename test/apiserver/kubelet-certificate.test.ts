import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo, Server } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
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
  node: Server = createServer(pair, (_request, response) => response.end('a line\n')),
): Promise<void> {
  node.listen(0, '127.0.0.1')
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
  t.match(await server.send(logs), {
    status: 500,
    body: { message: /tls: failed to verify certificate: x509: certificate signed by unknown authority$/ },
  })
})

t.test('a kubelet that does not answer is named in the words of a real server', async (t) => {
  const server = await startTestApiServer(t)
  // As a kubelet that waits for its serving certificate.
  const unready = createTlsServer({})
  unready.on('tlsClientError', () => {})
  await addNode(t, server, kubelet, unready)
  const { port } = unready.address() as AddressInfo
  const url = `https://127.0.0.1:${port}`
  const get = `Get "${url}/containerLogs/default/p/c": `
  const exec = { headers: { connection: 'Upgrade', upgrade: 'SPDY/3.1' }, method: 'POST' }
  const { body } = await server.send(logs)
  t.match(body, { message: `${get}remote error: tls: handshake failure`, code: 500 })
  t.notHas(body, { reason: 'InternalError' }, 'a real server gives no reason')
  const dialing = 'error dialing backend: '
  const execPath = '/api/v1/namespaces/default/pods/p/exec?command=x&stdout=1'
  t.match((await server.send(execPath, exec)).body, { message: `${dialing}remote error: tls: handshake failure` })
  unready.close()
  await once(unready, 'close')
  const refused = `dial tcp 127.0.0.1:${port}: connect: connection refused`
  t.match((await server.send(logs)).body, { message: get + refused })
  t.match((await server.send(execPath, exec)).body, { message: dialing + refused })
  t.match((await server.send('/api/v1/nodes/n1/proxy/healthz')).body, {
    code: 503,
    message: `error trying to reach service: ${refused}`,
  })
})
