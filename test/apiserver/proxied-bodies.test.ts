/** A body that is passed on to a pod, or from one, waits for its reader: the server holds only what is on its way. */
import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { type Duplex, Readable } from 'node:stream'
import { connect as connectTls } from 'node:tls'
import t, { type Test } from 'tap'
import { ServerProcess } from '../budgets/server-process.ts'
import { httpsExchange } from '../harness/https-exchange.ts'
import { until } from '../harness/until.ts'

const mb = 1024 * 1024
const bodyMb = 64
/** Of memory, beside what the kernel holds for each connection. */
const mostMb = 6
const podIP = '127.64.0.9'
const core = '/api/v1/namespaces/default'
const part = Buffer.alloc(64 * 1024, 'x')

const server = await ServerProcess.start(t)
const { port, tls } = server.started
const host = '127.0.0.1'

async function send(method: string, path: string, body: object): Promise<void> {
  const headers = { 'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json' }
  const { status, bytes } = await httpsExchange({ port, host, ...tls, path, method, headers }, JSON.stringify(body))
  if (status >= 300) throw new Error(String(bytes))
}
const container = { name: 'c', image: 'i' }
await send('POST', `${core}/pods`, {
  metadata: { name: 'p' },
  spec: { automountServiceAccountToken: false, containers: [container] },
})
await send('PATCH', `${core}/pods/p/status`, { status: { podIP } })

/** A pod that reads nothing until it is told to; resolves to its connection, when there is one. */
async function startPod(t: Test): Promise<{ path: string; connection: Promise<Socket> }> {
  const { promise: connection, resolve } = Promise.withResolvers<Socket>()
  const pod = createServer({ pauseOnConnect: true }, (socket) => resolve(socket.on('error', () => {})))
  await once(pod.listen(0, podIP), 'listening')
  t.teardown(async () => {
    pod.close()
    ;(await connection).destroy()
  })
  return { path: `${core}/pods/http:p:${(pod.address() as AddressInfo).port}/proxy/x`, connection }
}

type Ask = (t: Test, method: string, path: string) => Duplex

const fieldsOf = (method: string) => (method === 'POST' ? { 'content-length': bodyMb * mb } : {})
const clients: Record<string, { ask: Ask; codeOf(stream: Duplex): Promise<number> }> = {
  // Node's own client sends no more of a body that is answered already.
  'HTTP/1.1': {
    ask(t, method, path) {
      const socket = connectTls({ port, host, ...tls }).on('error', () => {})
      t.teardown(() => socket.destroy())
      const fields = Object.entries({ host, ...fieldsOf(method) }).map(([name, value]) => `${name}: ${value}`)
      socket.write([`${method} ${path} HTTP/1.1`, ...fields, '', ''].join('\r\n'))
      return socket
    },
    async codeOf(stream) {
      const [head] = (await once(stream, 'data')) as [Buffer]
      return Number(String(head).split(' ')[1])
    },
  },
  'HTTP/2': {
    ask(t, method, path) {
      const session = connectHttp2(`https://${host}:${port}`, tls)
      t.teardown(() => session.destroy())
      return session.request({ ':method': method, ':path': path, ...fieldsOf(method) }).on('error', () => {})
    },
    async codeOf(stream) {
      const [head] = await once(stream.resume(), 'response')
      return head[':status']
    },
  },
}

/** Sends the whole body; says how much has left. */
function upload(stream: Duplex): { sentMb: () => number } {
  let sent = 0
  const body = new Readable({
    highWaterMark: 0,
    read() {
      if (sent === bodyMb * mb) return void this.push(null)
      sent += part.length
      this.push(part)
    },
  })
  body.pipe(stream)
  return { sentMb: () => sent / mb }
}

/** Resolves when nobody is sending any more. */
async function standstill(sentMb: () => number): Promise<void> {
  let seen: number
  do {
    seen = sentMb()
    for (let round = 0; round < 3; round++) await server.rest()
  } while (sentMb() > seen)
}

for (const [protocol, { ask, codeOf }] of Object.entries(clients)) {
  t.test(`${protocol}: a pod that does not read, and then reads slowly`, async (t) => {
    const { path, connection } = await startPod(t)
    const before = await server.ask('collect')
    const { sentMb } = upload(ask(t, 'POST', path))
    const pod = await connection
    await standstill(sentMb)
    const after = await server.ask('collect')
    const more = Math.max(after.heldBytes - before.heldBytes, after.rssBytes - before.rssBytes) / mb
    t.ok(more <= mostMb, `${more.toFixed(1)} of ${mostMb} MB are held`)
    t.ok(sentMb() < bodyMb / 2, `the client waits after ${sentMb()} MB`)
    let read = 0
    pod.on('data', (chunk) => {
      read += chunk.length
      // One turn of the event loop between two reads.
      pod.pause()
      setImmediate(() => pod.resume())
    })
    pod.resume()
    await until(() => read > bodyMb * mb, { what: 'the whole body', timeoutMs: 60_000 })
    t.equal(sentMb(), bodyMb)
  })

  t.test(`${protocol}: a pod that leaves while the body waits`, async (t) => {
    const { path, connection } = await startPod(t)
    const stream = ask(t, 'POST', path)
    const code = codeOf(stream)
    const { sentMb } = upload(stream)
    const pod = await connection
    await standstill(sentMb)
    pod.resetAndDestroy()
    t.equal(await code, 503)
    const isOver = () => stream.destroyed || sentMb() === bodyMb
    await until(isOver, { what: 'the rest of the body to be discarded, or refused' })
  })

  t.test(`${protocol}: a client that does not read what a pod sends without end`, async (t) => {
    const { path, connection } = await startPod(t)
    const before = await server.ask('collect')
    ask(t, 'GET', `${path}y`)
    const pod = await connection
    pod.write('HTTP/1.1 200 OK\r\n\r\n')
    const { sentMb } = upload(pod)
    await standstill(sentMb)
    const after = await server.ask('collect')
    const more = Math.max(after.heldBytes - before.heldBytes, after.rssBytes - before.rssBytes) / mb
    t.ok(more <= mostMb, `${more.toFixed(1)} of ${mostMb} MB are held`)
    t.ok(sentMb() < bodyMb / 2, `the pod waits after ${sentMb()} MB`)
  })
}
