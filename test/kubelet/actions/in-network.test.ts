/** Probes and hooks of a pod that has a network of its own: they go through the node's network, and no other connection is made. */
import { createServer as createHttp2Server, type ServerHttp2Stream } from 'node:http2'
import https from 'node:https'
import net, { type AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import type { Action, ActionTarget } from '../../../kubelet/actions/action.ts'
import { createActions } from '../../../kubelet/actions/actions.ts'
import type { NodeNetwork } from '../../../kubelet/runtime/network/node-network.ts'
import { createSimulatedRuntime } from '../../../kubelet/runtime/simulated.ts'
import { realClock } from '../../../shared/clock/real-clock.ts'
import { issueCertificate } from '../../../shared/pki/certificate.ts'

/** Of documentation: no machine has it. */
const podIP = '192.0.2.7'
const places: string[] = []
const refused = new Set<number>()
const network = {
  has: (host: string) => host === podIP,
  async connect({ host, port }: { host: string; port: number }) {
    places.push(host)
    if (refused.has(port)) throw Object.assign(new Error('connect: ECONNREFUSED'), { code: 'ECONNREFUSED' })
    return net.connect({ host: '127.0.0.1', port })
  },
} as unknown as NodeNetwork

async function portOf(t: Test, server: net.Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  t.teardown(() => server.close())
  return (server.address() as AddressInfo).port
}
const run = (action: Action, timeoutMs = 10_000) => {
  const runtime = Object.assign(createSimulatedRuntime({ clock: realClock }), { network })
  const target: ActionTarget = { runtime, containerId: 'none', podIP, ports: [] }
  return createActions(realClock).run(action, target, { userAgent: 'kube-probe/1.36', purpose: 'probe', timeoutMs })
}

t.test('each action', async (t) => {
  const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello'
  const http = await portOf(
    t,
    net.createServer((socket) => socket.on('error', () => {}).once('data', () => socket.end(answer))),
  )
  const { cert, key } = issueCertificate({
    commonName: 'nobody',
    usage: 'server',
    notBefore: '2020-01-01T00:00:00Z',
    notAfter: '2021-01-01T00:00:00Z',
  })
  const tls = await portOf(
    t,
    https.createServer({ cert, key }, (_, response) => response.end('secret')),
  )
  const grpc = await portOf(
    t,
    createHttp2Server().on('stream', (stream: ServerHttp2Stream) => {
      stream.respond({ 'content-type': 'application/grpc' }, { waitForTrailers: true })
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
      stream.end(Buffer.from([0, 0, 0, 0, 2, 8, 1]))
    }),
  )
  t.match(await run({ tcpSocket: { port: http } }), { outcome: 'success' })
  t.match(await run({ httpGet: { port: http } }), { outcome: 'success', output: 'hello' })
  t.match(await run({ httpGet: { port: tls, scheme: 'HTTPS' } }), { outcome: 'success', output: 'secret' })
  t.match(await run({ grpc: { port: grpc } }), { outcome: 'success' })
  t.same(places, [podIP, podIP, podIP, podIP])
  t.match(
    await run({ httpGet: { port: http, host: '127.0.0.1' } }),
    { outcome: 'success' },
    'another host is the node’s',
  )
  t.equal(places.length, 4)
})

t.test('a refused connection is told in the words of a real kubelet', async (t) => {
  const port = 4711
  refused.add(port)
  const message = `dial tcp ${podIP}:${port}: connect: connection refused`
  t.match(await run({ tcpSocket: { port } }), { outcome: 'failure', message })
  const get = `Get "http://${podIP}:${port}/": ${message}`
  t.match(await run({ httpGet: { port } }), { outcome: 'failure', message: get })
  t.match(await run({ grpc: { port } }, 50), { outcome: 'failure', message: /^timeout: failed to connect service/ })
})
