import { once } from 'node:events'
import type { ClientHttp2Session } from 'node:http2'
import { Agent, request as httpsRequest } from 'node:https'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import WebSocket from 'ws'
import { createMemoryStorage } from '../../apiserver/storage/memory.ts'
import { openSqliteStorage } from '../../apiserver/storage/sqlite/sqlite.ts'
import type { Storage } from '../../apiserver/storage/storage.ts'
import { startTestApiServer, type TestApiServer } from '../harness/api-server.ts'
import { scratchFolder } from '../harness/scratch.ts'

/**
 * An event of a write is on its watcher's socket no later than the answer is on the writer's. What counts is the order in
 * which the server hands bytes to its sockets, so the test looks there; clients and their connections are real.
 */

const core = '/api/v1/namespaces/default'
const configMaps = `${core}/configmaps`
const pods = `${core}/pods`
const streamsOfSession = 50
const largeWindow = 2 ** 24

/** How many times something was written to each connection, by the client's port. */
type Counts = Map<number, number>

const countOf = (text: string, what: RegExp): number => text.match(what)?.length ?? 0
const anyEvent = /"type":"(ADDED|MODIFIED|DELETED)"/g

/** Sees what a server hands to its sockets, in that order and before it is encrypted. */
class Wire {
  /** Connections with watches on them, and how many. */
  readonly watches: Counts = new Map()
  readonly #written: { port: number; text: string }[] = []

  constructor(t: Test, server: TestApiServer) {
    const { _write, _writev } = TLSSocket.prototype
    const see = (socket: TLSSocket, chunks: readonly { chunk: Buffer | string }[]): void => {
      if (socket.localPort !== server.port) return
      const text = chunks.map(({ chunk }) => chunk.toString('latin1')).join('')
      this.#written.push({ port: socket.remotePort!, text })
    }
    TLSSocket.prototype._write = function (chunk, encoding, callback) {
      see(this, [{ chunk }])
      _write.call(this, chunk, encoding, callback)
    }
    TLSSocket.prototype._writev = function (chunks, callback) {
      see(this, chunks)
      _writev!.call(this, chunks, callback)
    }
    t.teardown(() => Object.assign(TLSSocket.prototype, { _write, _writev }))
  }

  watch(port: number | undefined): void {
    this.watches.set(port!, (this.watches.get(port!) ?? 0) + 1)
  }

  forget(): void {
    this.#written.length = 0
  }

  /** How many of `events` each watch lacked in the moment in which the answer that is like `answer` was written. */
  lateAt(answer: RegExp, events: RegExp, expected = 1): string[] {
    const at = this.#written.findIndex(({ port, text }) => !this.watches.has(port) && answer.test(text))
    if (at === -1) return ['there is no answer']
    const seen: Counts = new Map()
    for (const { port, text } of this.#written.slice(0, at))
      seen.set(port, (seen.get(port) ?? 0) + countOf(text, events))
    const lacking = [...this.watches].filter(([port, watches]) => (seen.get(port) ?? 0) < watches * expected)
    return lacking.map(([port, watches]) => `port ${port}: ${seen.get(port) ?? 0} of ${watches * expected}`)
  }
}

type Protocol = 'HTTP/1.1' | 'HTTP/2'
interface Write {
  method: string
  path: string
  body?: object
  type?: string
}
type Send = (write: Write) => Promise<{ status: number; body: string }>

function overHttp1(server: TestApiServer, agent: Agent): Send {
  return async ({ method, path, body, type = 'application/json' }) => {
    const headers = { 'content-type': type }
    const { status, bytes } = await server.send(path, {
      method,
      agent,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    })
    return { status, body: bytes.toString() }
  }
}

function overHttp2(session: ClientHttp2Session): Send {
  return async ({ method, path, body, type = 'application/json' }) => {
    const stream = session.request({ ':method': method, ':path': path, 'content-type': type })
    stream.end(body && JSON.stringify(body))
    const [headers] = await once(stream, 'response')
    return { status: Number(headers[':status']), body: await text(stream) }
  }
}

const writerOf = (t: Test, server: TestApiServer, protocol: Protocol): Send => {
  if (protocol === 'HTTP/2') return overHttp2(server.session())
  const agent = new Agent({ keepAlive: true })
  t.teardown(() => agent.destroy())
  return overHttp1(server, agent)
}

const asked = 'g=meta.k8s.io;v=v1'
const shapes = [
  { accept: 'application/json', more: '' },
  { accept: `application/json;as=PartialObjectMetadata;${asked}`, more: '' },
  { accept: `application/json;as=Table;${asked}`, more: '' },
  { accept: 'application/json', more: '&labelSelector=!nosuch' },
  { accept: 'application/json', more: '&fieldSelector=metadata.namespace%3Ddefault' },
]

/** `many` watches over HTTP/2, one of each shape over HTTP/1.1, and one over a WebSocket. */
async function watchAll(t: Test, server: TestApiServer, path: string, many: number): Promise<Wire> {
  const { body } = await server.send(path)
  const query = `watch=1&resourceVersion=${(body as { metadata: { resourceVersion: string } }).metadata.resourceVersion}`
  const wire = new Wire(t, server)
  const newSession = (): ClientHttp2Session => {
    const session = server.session()
    // The events of all its watches at a time are more than the 64 KB that a connection takes by default.
    session.once('connect', () => session.setLocalWindowSize(largeWindow))
    t.teardown(() => session.destroy())
    return session
  }
  let session = newSession()
  for (let i = 0; i < many; i++) {
    if (i > 0 && i % streamsOfSession === 0) session = newSession()
    const { accept, more } = shapes[i % shapes.length]!
    const stream = session.request({ ':path': `${path}?${query}${more}`, accept }).on('error', () => {})
    await once(stream.resume(), 'response')
    wire.watch(session.socket.localPort)
  }
  for (const { accept, more } of shapes) {
    const url = `https://127.0.0.1:${server.port}${path}?${query}${more}`
    const request = httpsRequest(url, { ...server.tls, agent: false, headers: { accept } })
      .on('error', () => {})
      .end()
    t.teardown(() => request.destroy())
    const [response] = await once(request, 'response')
    wire.watch(response.on('error', () => {}).resume().socket.localPort)
  }
  const webSocket = new WebSocket(`wss://127.0.0.1:${server.port}${path}?${query}`, server.tls)
  t.teardown(() => webSocket.terminate())
  const [upgraded] = await once(webSocket, 'upgrade')
  wire.watch(upgraded.socket.localPort)
  return wire
}

const configMap = (name: string, data = {}) => ({ metadata: { name }, data })
const pod = (name: string) => ({
  metadata: { name },
  spec: { automountServiceAccountToken: false, containers: [{ name: 'main', image: 'busybox' }] },
})
const apiVersion = 'v1'
const [merge, apply] = ['application/merge-patch+json', 'application/apply-patch+yaml']

/** One write after the other, by each way in which a client can write; and how many events it makes. */
const writesOf: Record<string, (Write & { events?: number })[]> = {
  [configMaps]: [
    { method: 'POST', path: '', body: configMap('a') },
    { method: 'PUT', path: '/a', body: configMap('a', { by: 'update' }) },
    { method: 'PATCH', path: '/a', type: merge, body: { data: { by: 'patch' } } },
    {
      method: 'PATCH',
      path: '/b?fieldManager=test',
      type: apply,
      body: { apiVersion, kind: 'ConfigMap', ...configMap('b') },
    },
    { method: 'DELETE', path: '/a' },
    { method: 'POST', path: '', body: configMap('c') },
    { method: 'DELETE', path: '', events: 2 },
  ],
  [pods]: [
    { method: 'POST', path: '', body: pod('p') },
    { method: 'POST', path: '/p/binding', body: { metadata: { name: 'p' }, target: { kind: 'Node', name: 'n' } } },
    { method: 'PATCH', path: '/p/status', type: merge, body: { status: { phase: 'Running' } } },
    { method: 'POST', path: '/p/eviction', body: { metadata: { name: 'p' } }, events: 2 },
    { method: 'DELETE', path: '/p?gracePeriodSeconds=0' },
  ],
}

interface InTurn {
  send: Send
  many: number
  collections?: readonly string[]
}

async function writesInTurn(
  t: Test,
  server: TestApiServer,
  { send, many, collections = [configMaps, pods] }: InTurn,
): Promise<void> {
  for (const collection of collections) {
    await t.test(`${many} watches of ${collection}`, async (t) => {
      const wire = await watchAll(t, server, collection, many)
      for (const { events = 1, ...write } of writesOf[collection]!) {
        wire.forget()
        const { status, body } = await send({ ...write, path: collection + write.path })
        t.ok(status === 200 || status === 201, `${write.method} ${write.path}: ${status} ${body}`)
        t.same(wire.lateAt(/"apiVersion":"/, anyEvent, events), [], `${write.method} ${write.path}: late watches`)
      }
    })
  }
}

const writers = 8
const writesOfOne = 4

/** Writers at the same time, on one connection or each on its own. */
async function writesAtOnce(t: Test, server: TestApiServer, senders: readonly Send[]): Promise<void> {
  const wire = await watchAll(t, server, configMaps, few)
  const names: string[] = []
  await Promise.all(
    Array.from({ length: writers }, async (_, writer) => {
      for (let i = 0; i < writesOfOne; i++) {
        const name = `at-once-${writer}-${i}`
        await senders[writer % senders.length]!({ method: 'POST', path: configMaps, body: configMap(name) })
        names.push(name)
      }
    }),
  )
  t.equal(names.length, writers * writesOfOne)
  const late = (name: string) => wire.lateAt(new RegExp(`"name":"${name}"`), new RegExp(`"name":"${name}"`, 'g'))
  t.same(names.flatMap(late), [], 'no answer is written before one of its events')
  await server.send(configMaps, { method: 'DELETE' })
}

/** node:http2 writes below the place where this test looks. */
const http2 = 'own'
const engines: Record<string, (t: Test) => Promise<Storage>> = {
  memory: async () => createMemoryStorage(),
  sqlite: (t) => openSqliteStorage({ file: join(scratchFolder(t, 'watch-order'), 'store.db') }),
}
const few = 10

for (const [engine, open] of Object.entries(engines)) {
  t.test(`${engine}: events are on their way before the writer's answer`, async (t) => {
    const server = await startTestApiServer(t, {}, undefined, {}, { storage: await open(t), http2 })
    for (const protocol of ['HTTP/1.1', 'HTTP/2'] as const) {
      await t.test(`writes over ${protocol}, one after the other`, (t) =>
        writesInTurn(t, server, { send: writerOf(t, server, protocol), many: few }),
      )
      await t.test(`writes over ${protocol} at the same time, each on a connection of its own`, (t) => {
        const senders = Array.from({ length: writers }, () => writerOf(t, server, protocol))
        return writesAtOnce(t, server, senders)
      })
    }
    await t.test('writes at the same time on one connection', (t) =>
      writesAtOnce(t, server, [writerOf(t, server, 'HTTP/2')]),
    )
  })
}

t.test('more watchers than are written to in one turn of the event loop', async (t) => {
  const server = await startTestApiServer(t, {}, undefined, {}, { http2 })
  await writesInTurn(t, server, { send: writerOf(t, server, 'HTTP/2'), many: 600, collections: [configMaps] })
})
