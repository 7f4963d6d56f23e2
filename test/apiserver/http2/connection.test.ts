import { once } from 'node:events'
import { connect } from 'node:http2'
import { Readable } from 'node:stream'
import t from 'tap'
import { createVirtualClock } from '../../../shared/clock/virtual-clock.ts'
import type { Http2Response } from '../../../shared/http2/server/response.ts'
import { until } from '../../harness/until.ts'
import {
  CANCEL,
  DATA,
  END_HEADERS,
  END_STREAM,
  frame,
  GOAWAY,
  get,
  HEADERS,
  head,
  post,
  type RawClient,
  RST_STREAM,
  requestFields,
  startHttp2,
  uint32,
  WINDOW_UPDATE,
  whole,
} from './raw-client.ts'

/** What one can see to be whole. */
const patternOf = (length: number): Buffer =>
  Buffer.from(Array.from({ length }, (_, at) => (at * 7 + (at >> 8)) & 0xff))
const dataOf = ({ frames }: RawClient, id: number): Buffer =>
  Buffer.concat(frames.filter(({ type, streamId }) => type === DATA && streamId === id).map(({ payload }) => payload))
const sizesOf = (client: RawClient): number[] =>
  client.frames.filter(({ type }) => type === DATA).map(({ payload }) => payload.length)

t.test("Node's own client: bodies both ways, fields with every character", async (t) => {
  let seen: string | undefined
  const server = await startHttp2(t, {
    onRequest(request, response) {
      seen = String(request.headers['x-all'])
      const parts: Buffer[] = []
      request.on('data', (part) => parts.push(part as Buffer))
      request.on('end', () => response.writeHead(200, { 'x-length': '1' }).end(Buffer.concat(parts)))
    },
  })
  const session = connect(`https://127.0.0.1:${server.port}`, { rejectUnauthorized: false })
  t.teardown(() => session.destroy())
  const all = Buffer.from(Array.from({ length: 224 }, (_, i) => i + 32))
    .toString('latin1')
    .replace('\x7f', '')
    .trim()
  for (const length of [0, 1, 16_384, 3_000_000]) {
    const body = patternOf(length)
    const stream = session.request({ ':method': 'POST', ':path': '/', 'x-all': all })
    stream.end(body)
    const [fields] = (await once(stream, 'response')) as [Record<string, string>]
    t.match(fields, { ':status': 200, 'x-length': '1', date: / GMT$/ })
    const received: Buffer[] = []
    for await (const part of stream) received.push(part as Buffer)
    t.ok(Buffer.concat(received).equals(body), `${length} bytes`)
    t.equal(seen, all)
  }
})

t.test('a body waits for the window of its stream, and for that of the connection', async (t) => {
  const body = patternOf(100_000)
  const server = await startHttp2(t, { onRequest: (_, response) => void response.writeHead(200).end(body) })
  const client = await server.start([[4, 10]])
  client.send(frame(HEADERS, whole, 1, get()))
  t.ok(await client.isAlive())
  t.same(sizesOf(client), [10], 'no more than the stream allows')
  client.send(frame(WINDOW_UPDATE, 0, 1, uint32(200_000)))
  await client.wait(() => dataOf(client, 1).length >= 65_535)
  t.equal(dataOf(client, 1).length, 65_535, 'no more than the connection allows')
  t.ok(sizesOf(client).every((size) => size <= 16_384))
  client.send(frame(WINDOW_UPDATE, 0, 0, uint32(200_000)))
  t.ok((await client.body(1)).equals(body))
})

t.test('a window that shrinks below zero, and grows again', async (t) => {
  const body = patternOf(2_000)
  const server = await startHttp2(t, { onRequest: (_, response) => void response.writeHead(200).end(body) })
  const client = await server.start([[4, 1_000]])
  client.send(frame(HEADERS, whole, 1, get()))
  await client.wait(() => dataOf(client, 1).length === 1_000)
  client.send(frame(4, 0, 0, [0, 4, 0, 0, 0, 100]), frame(WINDOW_UPDATE, 0, 1, uint32(900)))
  t.ok(await client.isAlive())
  t.equal(dataOf(client, 1).length, 1_000, 'the debt is paid first')
  client.send(frame(WINDOW_UPDATE, 0, 1, uint32(1_000)))
  t.ok((await client.body(1)).equals(body))
})

t.test('a client that does not read: writers wait, and then everything arrives as it was written', async (t) => {
  let response: Http2Response | undefined
  const server = await startHttp2(t, {
    onRequest(_, given) {
      response = given.writeHead(200)
    },
  })
  const client = await server.start([[4, 2 ** 31 - 1]])
  client.send(frame(WINDOW_UPDATE, 0, 0, uint32(2 ** 30)), frame(HEADERS, whole, 1, get()))
  await client.wait(({ type }) => type === HEADERS)
  client.socket.pause()
  const part = patternOf(64 * 1024)
  let written = 0
  // The operating system takes some megabytes before it pushes back.
  await until(
    () => {
      for (let i = 0; i < 64; i++, written++) response!.write(part)
      return response!.writableLength > 8 * 1024 * 1024
    },
    { what: 'back-pressure' },
  )
  t.ok(response!.writableNeedDrain)
  const drained = once(response!, 'drain')
  client.socket.resume()
  await drained
  response!.end()
  const body = await client.body(1)
  t.equal(body.length, written * part.length)
  let differing = 0
  for (let at = 0; at < body.length; at += part.length) if (part.compare(body, at, at + part.length) !== 0) differing++
  t.equal(differing, 0)
})

t.test('a stream that is piped into a response', async (t) => {
  const body = patternOf(1_000_000)
  const server = await startHttp2(t, {
    onRequest(_, response) {
      response.writeHead(200)
      Readable.from([body.subarray(0, 700_000), body.subarray(700_000)]).pipe(
        response as unknown as NodeJS.WritableStream,
      )
    },
  })
  const client = await server.start([[4, 2 ** 30]])
  client.send(frame(WINDOW_UPDATE, 0, 0, uint32(2 ** 30)), frame(HEADERS, whole, 1, get()))
  t.ok((await client.body(1)).equals(body))
})

t.test('a listener that pauses gets all of a body', async (t) => {
  let resume = (): void => {}
  const server = await startHttp2(t, {
    onRequest(request, response) {
      let length = 0
      resume = () => void request.resume()
      request.on('data', (part) => {
        length += (part as Buffer).length
        request.pause()
      })
      request.on('end', () => response.end(`${length}`))
    },
  })
  const session = connect(`https://127.0.0.1:${server.port}`, { rejectUnauthorized: false })
  t.teardown(() => session.destroy())
  const stream = session.request({ ':method': 'POST', ':path': '/' })
  stream.end(patternOf(500_000))
  const text = stream.setEncoding('utf8').toArray()
  const isAnswered = () => {
    resume()
    return stream.closed
  }
  await until(isAnswered, { what: 'the answer' })
  t.equal((await text).join(''), '500000')
})

t.test('what a listener that pauses never reads takes nothing from other streams', async (t) => {
  const server = await startHttp2(t, {
    onRequest(request, response) {
      const leave = (): void => {
        request.pause()
        response.destroy()
      }
      // By then most of it has come.
      setImmediate(() => request.on('data', leave))
    },
  })
  const client = await server.start()
  // Together more than the window of the connection.
  const parts = Array.from({ length: 15 }, () => Buffer.alloc(1_000))
  for (let id = 1; id < 1_000; id += 2) {
    client.send(frame(HEADERS, END_HEADERS, id, post()), ...parts.map((part) => frame(DATA, 0, id, part)))
    await client.errorCode(id)
  }
  t.ok(await client.isAlive())
})

t.test('streams of one connection take turns', async (t) => {
  const server = await startHttp2(t, {
    onRequest: (request, response) =>
      void response.writeHead(200).end(Buffer.alloc(request.url === '/long' ? 1_000_000 : 10)),
  })
  const client = await server.start([[4, 2 ** 30]])
  client.send(frame(WINDOW_UPDATE, 0, 0, uint32(2 ** 30)))
  client.send(frame(HEADERS, whole, 1, get('/long')), frame(HEADERS, whole, 3, get('/short')))
  await Promise.all([client.body(1), client.body(3)])
  const ends = client.frames.filter(({ type, flags }) => type === DATA && flags & END_STREAM)
  t.same(
    ends.map(({ streamId }) => streamId),
    [3, 1],
  )
})

t.test('a client that goes away, or gives a stream up', async (t) => {
  const told: string[] = []
  const server = await startHttp2(t, {
    onRequest(request, response) {
      request.on('aborted', () => told.push(`${request.url} aborted`))
      response.on('close', () => told.push(`${request.url} closed`))
      response.on('finish', () => told.push(`${request.url} finished`))
      if (request.url === '/answered') response.writeHead(200).end('x')
      else request.resume()
    },
  })
  const client = await server.start()
  client.send(frame(HEADERS, whole, 1, get('/answered')))
  await client.body(1)
  t.same(told, ['/answered finished', '/answered closed'])
  client.send(
    frame(HEADERS, END_HEADERS, 3, head(requestFields('POST', '/reset'))),
    frame(RST_STREAM, 0, 3, uint32(CANCEL)),
  )
  t.ok(await client.isAlive())
  t.same(told.splice(2), ['/reset aborted', '/reset closed'])
  client.send(
    frame(HEADERS, END_HEADERS, 5, head(requestFields('POST', '/gone'))),
    frame(HEADERS, whole, 7, get('/watch')),
  )
  t.ok((await client.wait(({ type }) => type === HEADERS)) && !client.socket.destroyed)
  client.socket.destroy()
  await until(() => told.length === 5, { what: 'both to hear of it' })
  t.same(told.splice(2), ['/gone aborted', '/gone closed', '/watch closed'])
})

t.test('a response that is destroyed, and what is written to it afterwards', async (t) => {
  const server = await startHttp2(t, {
    onRequest(_, response) {
      response.writeHead(200).destroy()
      response.write('x')
      response.end()
    },
  })
  const client = (await server.start()).send(frame(HEADERS, whole, 1, get()))
  t.equal(await client.errorCode(1), 2)
  t.ok(await client.isAlive())
})

t.test('closing lets answers under way finish, and takes no new ones', async (t) => {
  const responses: Http2Response[] = []
  const server = await startHttp2(t, { onRequest: (_, response) => void responses.push(response) })
  const client = (await server.start()).send(frame(HEADERS, whole, 1, get()))
  await until(() => responses.length === 1, { what: 'the request' })
  for (const connection of server.connections) connection.close()
  const last = await client.wait(({ type }) => type === GOAWAY)
  t.same([last?.payload.readUInt32BE(0), last?.payload.readUInt32BE(4)], [1, 0])
  client.send(frame(HEADERS, whole, 3, get()))
  t.equal(await client.errorCode(3), 7, 'refused')
  responses[0]!.writeHead(200).end('at last')
  t.equal((await client.body(1)).toString(), 'at last')
  await client.closed
})

t.test('requests that do not get on', async (t) => {
  const clock = createVirtualClock()
  const server = await startHttp2(t, { clock })
  const silent = await server.open()
  const slow = (await server.start()).send(frame(HEADERS, END_HEADERS, 1, post()), frame(DATA, 0, 1, [1]))
  t.ok(await slow.isAlive())
  await clock.advance(61_000)
  t.equal(await silent.errorCode(0), 0, 'a connection without a beginning')
  t.equal(await slow.errorCode(1), CANCEL, 'a request without an end')
  t.ok(await slow.isAlive())
})

t.test(
  'no stream is left behind: a connection that has answered everything ends as soon as it is closed',
  async (t) => {
    const server = await startHttp2(t)
    const client = await server.start()
    for (let id = 1; id < 100; id += 2) client.send(frame(HEADERS, whole, id, get()))
    await client.body(99)
    for (const connection of server.connections) connection.close()
    await client.closed
    t.ok(await client.wait(({ type }) => type === GOAWAY))
  },
)
