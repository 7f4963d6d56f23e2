/** exec and attach when the kubelet refuses: what a real server was seen to answer. */
import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { issueCertificate } from '../../shared/pki/certificate.ts'
import { startTestApiServer } from '../harness/api-server.ts'

const pod = '/api/v1/namespaces/default/pods/p'
const v5 = 'v5.channel.k8s.io'

/** A pod on a node whose kubelet answers each request with 500 and this text. */
async function startKubelet(t: Test) {
  const server = await startTestApiServer(t)
  const validity = { notBefore: '2026-01-01T00:00:00Z', notAfter: '2049-01-01T00:00:00Z' }
  const pair = issueCertificate({ commonName: 'n1', altNames: ['n1'], usage: 'server', ...validity })
  const kubelet = createServer(pair, (_request, response) => response.writeHead(500).end('container not found ("c")'))
  kubelet.on('upgrade', (_request, socket) => {
    socket.end('HTTP/1.1 500 Internal Server Error\r\ncontent-length: 25\r\n\r\ncontainer not found ("c")')
  })
  t.teardown(() => kubelet.close())
  kubelet.listen(0, '127.0.0.1')
  await once(kubelet, 'listening')
  const { port } = kubelet.address() as AddressInfo
  const status = {
    addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
    daemonEndpoints: { kubeletEndpoint: { Port: port } },
  }
  await server.send('/api/v1/nodes', { method: 'POST', body: { metadata: { name: 'n1' }, status } })
  const spec = { nodeName: 'n1', containers: [{ name: 'c', image: 'x' }] }
  await server.send('/api/v1/namespaces/default/pods', { method: 'POST', body: { metadata: { name: 'p' }, spec } })
  return { server, kubelet, port }
}

/** The messages until it is closed, and the code with which it is; or the answer in place of an upgrade. */
async function ask({ port, tls }: Awaited<ReturnType<typeof startTestApiServer>>, path: string, protocol: string) {
  const socket = new WebSocket(`wss://127.0.0.1:${port}${path}`, protocol, tls)
  const messages: Buffer[] = []
  socket.on('message', (data: Buffer) => messages.push(data))
  const refused = once(socket, 'unexpected-response').then(async ([, response]) => {
    const parts: Buffer[] = []
    for await (const part of response) parts.push(part)
    return { status: response.statusCode, body: JSON.parse(Buffer.concat(parts).toString()) }
  })
  const closed = once(socket, 'close').then(([code]) => ({ code, messages, protocol: socket.protocol }))
  return Promise.race([refused, closed])
}

const failure = (message: string) => ({
  metadata: {},
  status: 'Failure',
  message: `Internal error occurred: ${message}`,
  reason: 'InternalError',
  details: { causes: [{ message }] },
  code: 500,
})

t.test('a kubelet that is not there', async (t) => {
  const { server, kubelet, port } = await startKubelet(t)
  kubelet.close()
  await once(kubelet, 'close')
  const dial = `dial tcp 127.0.0.1:${port}: connect: connection refused`
  const table: [path: string, lowest: number, url: string][] = [
    ['exec?command=ls&stdout=true&stderr=true', 1, 'exec/default/p/c?command=ls&error=1&output=1'],
    ['exec?command=ls&stdout=false&stderr=true', 2, 'exec/default/p/c?command=ls&error=1'],
    ['attach?stdout=false&stderr=false&stdin=true', 3, 'attach/default/p/c?input=1'],
  ]
  for (const [path, lowest, url] of table) {
    const answer = await ask(server, `${pod}/${path}`, v5)
    if (!('messages' in answer)) return t.fail(`no WebSocket: ${JSON.stringify(answer)}`)
    const [hello, last, ...more] = answer.messages
    t.same({ ...answer, messages: [] }, { code: 1000, messages: [], protocol: v5 })
    t.same(hello, Buffer.from([lowest]), 'the client learns that it is connected')
    t.equal(last?.[0], 3)
    const why = failure(`error sending request: Post "https://127.0.0.1:${port}/${url}": ${dial}`)
    t.same(JSON.parse(String(last?.subarray(1))), why, path)
    t.same(more, [])
  }
  const plain = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code: 500 }
  const body = { ...plain, message: `error dialing backend: ${dial}` }
  for (const protocol of ['v4.channel.k8s.io', 'base64.channel.k8s.io'])
    t.same(await ask(server, `${pod}/exec?command=ls`, protocol), { status: 500, body }, protocol)
  t.same(await ask(server, `${pod}/portforward?ports=80`, 'v4.channel.k8s.io'), { status: 500, body }, 'portforward')
  const spdy = { connection: 'Upgrade', upgrade: 'SPDY/3.1' }
  t.match(await server.send(`${pod}/exec?command=ls`, { method: 'POST', headers: spdy }), { status: 500, body }, 'SPDY')
})

t.test('a kubelet that refuses', async (t) => {
  const { server } = await startKubelet(t)
  const answer = await ask(server, `${pod}/exec?command=ls`, v5)
  if (!('messages' in answer)) return t.fail(`no WebSocket: ${JSON.stringify(answer)}`)
  const last = String(answer.messages.at(-1)?.subarray(1))
  t.same(JSON.parse(last), failure('unable to upgrade connection: container not found ("c")'))
})
