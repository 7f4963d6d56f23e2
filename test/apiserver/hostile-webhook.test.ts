/**
 * The client of webhooks against a server that wishes it ill: whatever comes, a call ends with an error that names it,
 * in bounded time, memory and CPU time, is never repeated, and the next call is made as if nothing had been.
 */
import { type AddressInfo, createServer, type Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import { createWebhookClient, type WebhookClient } from '../../apiserver/webhook-client/webhook-client.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { until } from '../harness/until.ts'
import { type HostileAnswer, type HostileErrors, head, hostileAnswers } from '../shared/hostile-answers.ts'
import { type HostileOptions, hostileServer, sayForEver } from '../shared/hostile-server.ts'

t.setTimeout(200_000)

const rejections: unknown[] = []
process.on('unhandledRejection', (error) => rejections.push(error))

const errors: HostileErrors = {
  'nothing, for ever': /^Post "https:.*\/a\?timeout=1s": context deadline exceeded$/,
  'a head without end': /response headers exceeded 16384 bytes/,
  'interim answers without end': /too many 1xx informational responses/,
  'a body without end': /http: response body too large/,
  'a length of 1 GB': /http: response body too large/,
  'an extension without end': /context deadline exceeded/,
  'trailers without end': /response headers exceeded 16384 bytes/,
  'chunks of garbage': /transport connection broken: .*Invalid character in chunk size/,
  'a length below zero': /transport connection broken: .*Invalid character in Content-Length/,
  'a length that is never reached': /context deadline exceeded/,
  'another protocol': /transport connection broken: .*Expected HTTP\//,
  'a switch of protocols': /^the server responded with the status code 101/,
  'no JSON': /^couldn't get version\/kind; json parse error: invalid character ']'/,
  null: /json parse error: json: cannot unmarshal null/,
  'a redirect': /^the server responded with the status code 307/,
  'later, in a year': /^the server has received too many requests/,
}

const MiB = 1024 * 1024
const used = () => {
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return (heapUsed + arrayBuffers) / MiB
}

const goodAnswer = `${head}Content-Length: 12\r\n\r\n{"kind":"A"}`

function webhookClient(t: Test): WebhookClient {
  const resolveService = () => {
    throw new Error('no service is asked for')
  }
  const client = createWebhookClient({ clock: realClock, resolveService })
  t.teardown(() => client.close())
  return client
}

async function hostileWebhook(t: Test, options: HostileOptions, timeoutSeconds = 1) {
  const server = await hostileServer(t, options)
  const client = webhookClient(t)
  const caBundle = Buffer.from(server.ca).toString('base64')
  const call = () => client.post({ url: `${server.url}/a`, caBundle }, '{}', { timeoutSeconds, userAgent: 'test' })
  return { server, client, call }
}

for (const [what, error] of Object.entries(errors)) {
  const { start = '', again }: HostileAnswer = hostileAnswers[what as keyof HostileErrors]
  t.test(`${what}: an error that says so, and the client goes on`, async (t) => {
    let isHostile = true
    const { server, call } = await hostileWebhook(t, {
      onRequest: (socket) => {
        if (!isHostile) socket.write(goodAnswer)
        else if (again) sayForEver(socket, start, again)
        else socket.write(start)
      },
    })
    const before = { memory: used(), cpu: process.cpuUsage() }
    await t.rejects(call(), error)
    t.ok(used() - before.memory < 100, `memory: ${used() - before.memory} MiB`)
    const { user, system } = process.cpuUsage(before.cpu)
    t.ok(user + system < 6_000_000, `CPU time: ${(user + system) / 1e6} s`)
    t.equal(server.heard.connections, 1, 'the call is not repeated')
    isHostile = false
    server.drop()
    t.same(await call().catch(call), { kind: 'A' })
  })
}

t.test(
  'a webhook that reads a call and answers nothing: its call ends in time, and others wait for none',
  async (t) => {
    let calls = 0
    const { server, call } = await hostileWebhook(t, {
      onRequest: (socket) => void (++calls > 1 && socket.write(goodAnswer)),
    })
    const stalled = t.rejects(call(), /context deadline exceeded/)
    await until(() => calls === 1, { what: 'the first call' })
    t.same(await call(), { kind: 'A' })
    await stalled
    t.equal(server.heard.connections, 2)
    await until(() => server.closed === 1, { what: 'the end of the connection that answers nothing' })
    t.same(await call(), { kind: 'A' })
  },
)

t.test('a handshake that never ends is left when the call is', async (t) => {
  const sockets = new Set<Socket>()
  const silent = createServer((socket) => {
    sockets.add(socket)
    socket
      .resume()
      .on('error', () => {})
      .on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  t.teardown(() => silent.close())
  const client = webhookClient(t)
  const { port } = silent.address() as AddressInfo
  const call = (timeoutSeconds: number) =>
    client.post({ url: `https://127.0.0.1:${port}/a` }, '{}', { timeoutSeconds, userAgent: 'test' })
  await t.rejects(call(0.2), /context deadline exceeded/)
  await until(() => sockets.size === 0, { what: 'the end of the connection' })
  const cut = t.rejects(call(30), /context canceled/)
  await until(() => sockets.size === 1, { what: 'the second connection' })
  client.close()
  await cut
  await until(() => sockets.size === 0, { what: 'the end of the second connection' })
})

t.test('what is under way ends with the client', async (t) => {
  const { server, client, call } = await hostileWebhook(t, {}, 30)
  const cut = t.rejects(call(), /context canceled/)
  await until(() => server.heard.text.includes('\r\n\r\n'), { what: 'the call' })
  client.close()
  await cut
  await until(() => server.closed === 1, { what: 'the end of the connection' })
})

t.test('connections are kept for 64 authorities, and one that is left ends with its last answer', async (t) => {
  const held: TLSSocket[] = []
  let isHeld = true
  const server = await hostileServer(t, {
    onConnection: (socket) =>
      socket.on('data', (data) => {
        if (isHeld) held.push(socket)
        else if (data.toString().startsWith('POST')) socket.write(goodAnswer)
      }),
  })
  const client = webhookClient(t)
  const caBundle = Buffer.from(server.ca).toString('base64')
  const call = (path: string, ca = caBundle) =>
    client.post({ url: `${server.url}${path}`, caBundle: ca }, '{}', { timeoutSeconds: 30, userAgent: 'test' })
  const first = call('/first')
  await until(() => held.length === 1, { what: 'the first call' })
  isHeld = false
  // A bundle that differs is another authority.
  const bundles = Array.from({ length: 64 }, (_, i) =>
    Buffer.from(`${server.ca}${'\n'.repeat(i + 1)}`).toString('base64'),
  )
  for (const bundle of bundles) await call('/a', bundle)
  t.equal(server.heard.connections, 65)
  t.equal(server.closed, 0, 'the first call is still under way')
  held[0]?.write(goodAnswer)
  t.same(await first, { kind: 'A' })
  await until(() => server.closed === 1, { what: 'the end of the connection that is not kept' })
  await call('/a', bundles[0])
  t.equal(server.heard.connections, 65, 'the others are kept')
})

t.test('none of this is a rejection that nothing handles', async (t) => {
  t.same(rejections, [])
})
