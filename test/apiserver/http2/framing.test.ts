import t from 'tap'
import { createVirtualClock } from '../../../shared/clock/virtual-clock.ts'
import {
  ACK,
  CONTINUATION,
  DATA,
  END_HEADERS,
  END_STREAM,
  ENHANCE_YOUR_CALM,
  frame,
  GOAWAY,
  get,
  HAS_PRIORITY,
  HEADERS,
  head,
  PADDED,
  PING,
  PRIORITY,
  PUSH_PROMISE,
  post,
  preface,
  RST_STREAM,
  requestFields,
  SETTINGS,
  settings,
  startHttp2,
  uint32,
  WINDOW_UPDATE,
  whole,
} from './raw-client.ts'

const NO_ERROR = 0
const PROTOCOL_ERROR = 1
const FLOW_CONTROL_ERROR = 3
const STREAM_CLOSED = 5
const FRAME_SIZE_ERROR = 6
const COMPRESSION_ERROR = 9

const opened = frame(HEADERS, END_HEADERS, 1, post())
const answered = frame(HEADERS, whole, 1, get())
const many = (count: number, bytes: Buffer): Buffer => Buffer.concat(Array.from({ length: count }, () => bytes))

interface Fault {
  frames: Buffer[]
  /** The stream that ends; 0: the connection. */
  stream: number
  code: number
}

const faults: Record<string, Fault> = {
  'a DATA of no stream': { frames: [frame(DATA, 0, 0, [1])], stream: 0, code: PROTOCOL_ERROR },
  'a DATA of an idle stream': { frames: [frame(DATA, 0, 5, [1])], stream: 0, code: PROTOCOL_ERROR },
  'a DATA after the end': {
    frames: [opened, frame(DATA, END_STREAM, 1), frame(DATA, 0, 1, [1])],
    stream: 1,
    code: STREAM_CLOSED,
  },
  'more padding than payload': { frames: [opened, frame(DATA, PADDED, 1, [4, 1])], stream: 0, code: PROTOCOL_ERROR },
  'no room for the padding': { frames: [opened, frame(DATA, PADDED, 1)], stream: 0, code: FRAME_SIZE_ERROR },
  'a DATA beyond the announced length': {
    frames: [frame(HEADERS, END_HEADERS, 1, post(['content-length', '1'])), frame(DATA, 0, 1, [1, 2])],
    stream: 1,
    code: PROTOCOL_ERROR,
  },
  'an end before the announced length': {
    frames: [frame(HEADERS, END_HEADERS, 1, post(['content-length', '2'])), frame(DATA, END_STREAM, 1, [1])],
    stream: 1,
    code: PROTOCOL_ERROR,
  },
  'an announced length and no DATA': {
    frames: [frame(HEADERS, whole, 1, post(['content-length', '2']))],
    stream: 1,
    code: PROTOCOL_ERROR,
  },
  'a content-length that is no number': {
    frames: [frame(HEADERS, END_HEADERS, 1, post(['content-length', '-1']))],
    stream: 1,
    code: PROTOCOL_ERROR,
  },
  'HEADERS of stream 0': { frames: [frame(HEADERS, whole, 0, get())], stream: 0, code: PROTOCOL_ERROR },
  'HEADERS of an even stream': { frames: [frame(HEADERS, whole, 2, get())], stream: 0, code: PROTOCOL_ERROR },
  'HEADERS with a lower number': {
    frames: [frame(HEADERS, whole, 5, get()), frame(HEADERS, whole, 3, get())],
    stream: 0,
    code: STREAM_CLOSED,
  },
  'HEADERS that depend on themselves': {
    frames: [frame(HEADERS, whole | HAS_PRIORITY, 1, Buffer.concat([uint32(1), Buffer.from([0]), get()]))],
    stream: 1,
    code: PROTOCOL_ERROR,
  },
  'HEADERS without room for their priority': {
    frames: [frame(HEADERS, whole | HAS_PRIORITY, 1, [0, 0])],
    stream: 0,
    code: FRAME_SIZE_ERROR,
  },
  'HEADERS that are not HPACK': { frames: [frame(HEADERS, whole, 1, [0x80])], stream: 0, code: COMPRESSION_ERROR },
  'trailers that are not the end': {
    frames: [opened, frame(HEADERS, END_HEADERS, 1, head([['a', 'b']]))],
    stream: 1,
    code: PROTOCOL_ERROR,
  },
  'trailers with a pseudo-header': {
    frames: [opened, frame(HEADERS, whole, 1, head([[':path', '/']]))],
    stream: 1,
    code: PROTOCOL_ERROR,
  },
  'another frame within a head': {
    frames: [frame(HEADERS, END_STREAM, 1, get()), frame(PING, 0, 0, Buffer.alloc(8))],
    stream: 0,
    code: PROTOCOL_ERROR,
  },
  'the CONTINUATION of another stream': {
    frames: [frame(HEADERS, END_STREAM, 1, get()), frame(CONTINUATION, END_HEADERS, 3)],
    stream: 0,
    code: PROTOCOL_ERROR,
  },
  'a CONTINUATION of nothing': { frames: [frame(CONTINUATION, END_HEADERS, 1)], stream: 0, code: PROTOCOL_ERROR },
  'a head of CONTINUATIONs without end': {
    frames: [frame(HEADERS, END_STREAM, 1, get()), many(100, frame(CONTINUATION, 0, 1))],
    stream: 0,
    code: ENHANCE_YOUR_CALM,
  },
  'a RST_STREAM of an idle stream': { frames: [frame(RST_STREAM, 0, 1, uint32(8))], stream: 0, code: PROTOCOL_ERROR },
  'a short RST_STREAM': { frames: [opened, frame(RST_STREAM, 0, 1, [0])], stream: 0, code: FRAME_SIZE_ERROR },
  'SETTINGS of a stream': { frames: [frame(SETTINGS, 0, 1)], stream: 0, code: PROTOCOL_ERROR },
  'SETTINGS of a wrong length': { frames: [frame(SETTINGS, 0, 0, [0])], stream: 0, code: FRAME_SIZE_ERROR },
  'an answer to SETTINGS that says something': {
    frames: [frame(SETTINGS, ACK, 0, [0])],
    stream: 0,
    code: FRAME_SIZE_ERROR,
  },
  'ENABLE_PUSH of 2': { frames: [settings([[2, 2]])], stream: 0, code: PROTOCOL_ERROR },
  'INITIAL_WINDOW_SIZE too large': { frames: [settings([[4, 2 ** 31]])], stream: 0, code: FLOW_CONTROL_ERROR },
  'MAX_FRAME_SIZE too small': { frames: [settings([[5, 100]])], stream: 0, code: PROTOCOL_ERROR },
  'a PUSH_PROMISE': { frames: [frame(PUSH_PROMISE, END_HEADERS, 1, uint32(2))], stream: 0, code: PROTOCOL_ERROR },
  'a PING of a stream': { frames: [frame(PING, 0, 1, Buffer.alloc(8))], stream: 0, code: PROTOCOL_ERROR },
  'a short PING': { frames: [frame(PING, 0, 0, [1])], stream: 0, code: FRAME_SIZE_ERROR },
  'a GOAWAY of a stream': { frames: [frame(GOAWAY, 0, 1, Buffer.alloc(8))], stream: 0, code: PROTOCOL_ERROR },
  'a PRIORITY of no stream': { frames: [frame(PRIORITY, 0, 0, Buffer.alloc(5))], stream: 0, code: PROTOCOL_ERROR },
  'a short PRIORITY': { frames: [frame(PRIORITY, 0, 1, [1])], stream: 1, code: FRAME_SIZE_ERROR },
  'a PRIORITY that depends on itself': {
    frames: [frame(PRIORITY, 0, 1, [...uint32(1), 0])],
    stream: 1,
    code: PROTOCOL_ERROR,
  },
  'a WINDOW_UPDATE of nothing': { frames: [frame(WINDOW_UPDATE, 0, 0, uint32(0))], stream: 0, code: PROTOCOL_ERROR },
  'a WINDOW_UPDATE of nothing for a stream': {
    frames: [opened, frame(WINDOW_UPDATE, 0, 1, uint32(0))],
    stream: 1,
    code: PROTOCOL_ERROR,
  },
  'a WINDOW_UPDATE of an idle stream': {
    frames: [frame(WINDOW_UPDATE, 0, 1, uint32(1))],
    stream: 0,
    code: PROTOCOL_ERROR,
  },
  'a short WINDOW_UPDATE': { frames: [frame(WINDOW_UPDATE, 0, 0, [1])], stream: 0, code: FRAME_SIZE_ERROR },
  'a window larger than there can be': {
    frames: [frame(WINDOW_UPDATE, 0, 0, uint32(2 ** 31 - 1))],
    stream: 0,
    code: FLOW_CONTROL_ERROR,
  },
  "a stream's window larger than there can be": {
    frames: [opened, frame(WINDOW_UPDATE, 0, 1, uint32(2 ** 31 - 1))],
    stream: 1,
    code: FLOW_CONTROL_ERROR,
  },
  'a frame larger than allowed': {
    frames: [opened, frame(DATA, 0, 1, Buffer.alloc(16_385))],
    stream: 0,
    code: FRAME_SIZE_ERROR,
  },
  'more DATA than anybody reads': {
    frames: [
      frame(HEADERS, END_HEADERS, 1, head(requestFields('POST', '/silent'))),
      many(17, frame(DATA, 0, 1, Buffer.alloc(16_000))),
    ],
    stream: 1,
    code: FLOW_CONTROL_ERROR,
  },
  'pings without end': {
    frames: [many(20_000, frame(PING, 0, 0, Buffer.alloc(8)))],
    stream: 0,
    code: ENHANCE_YOUR_CALM,
  },
  'settings without end': { frames: [many(20_000, settings())], stream: 0, code: ENHANCE_YOUR_CALM },
  'empty DATA without end': { frames: [opened, many(20_000, frame(DATA, 0, 1))], stream: 0, code: ENHANCE_YOUR_CALM },
}

const malformedHeads: Record<string, [string, string][]> = {
  'a name with a capital': [...requestFields(), ['Accept', 'x']],
  'a name with a space': [...requestFields(), ['a b', 'x']],
  'a value with a line break': [...requestFields(), ['accept', 'a\r\nb']],
  'a field of HTTP/1.1': [...requestFields(), ['connection', 'close']],
  'te that is not trailers': [...requestFields(), ['te', 'gzip']],
  'an unknown pseudo-header': [...requestFields(), [':what', 'x']],
  'the :status of an answer': [...requestFields(), [':status', '200']],
  'a pseudo-header twice': [...requestFields(), [':path', '/']],
  'a pseudo-header after a field': [['accept', 'x'], ...requestFields()],
  'no method': requestFields().slice(1),
  'no scheme': requestFields().filter(([name]) => name !== ':scheme'),
  'no path': requestFields().filter(([name]) => name !== ':path'),
  'an empty path': requestFields('GET', ''),
}
for (const [name, fields] of Object.entries(malformedHeads)) {
  faults[name] = { frames: [frame(HEADERS, whole, 1, head(fields))], stream: 1, code: PROTOCOL_ERROR }
}

t.test('each fault ends what is at fault, with the right code', async (t) => {
  const server = await startHttp2(t, {
    onRequest(request, response) {
      if (request.url === '/silent') return
      request.on('data', () => {})
      request.on('end', () => response.writeHead(204).end())
    },
  })
  for (const [name, { frames, stream, code }] of Object.entries(faults)) {
    const client = (await server.start()).send(...frames)
    t.equal(await client.errorCode(stream), code, name)
    if (stream === 0) await client.closed
    else t.ok(await client.isAlive(), `${name}: the connection goes on`)
  }
})

t.test('what a connection must begin with', async (t) => {
  const server = await startHttp2(t)
  const stranger = (await server.open()).send(Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n'))
  t.equal(await stranger.errorCode(0), PROTOCOL_ERROR, 'no preface')
  const impatient = (await server.open()).send(preface, answered)
  t.equal(await impatient.errorCode(0), PROTOCOL_ERROR, 'no SETTINGS')
})

t.test('what is unknown, or of no use here, is passed over', async (t) => {
  const client = await (await startHttp2(t)).start([
    [1, 0],
    [0x99, 7],
  ])
  client.send(
    frame(0x42, 0xff, 0, [1, 2, 3]),
    frame(PRIORITY, 0, 3, [...uint32(1), 16]),
    frame(GOAWAY, 0, 0, Buffer.alloc(8)),
    frame(
      HEADERS,
      whole | PADDED | HAS_PRIORITY,
      1,
      Buffer.concat([Buffer.from([2, 0, 0, 0, 9, 1]), get('/padded'), Buffer.alloc(2)]),
    ),
  )
  t.equal((await client.body(1)).toString(), 'GET /padded ')
})

t.test('a head in many pieces, byte by byte', async (t) => {
  const client = await (await startHttp2(t)).open()
  const block = get('/pieces')
  const bytes = Buffer.concat([
    preface,
    settings(),
    frame(HEADERS, END_STREAM, 1, block.subarray(0, 5)),
    frame(CONTINUATION, 0, 1, block.subarray(5, 6)),
    frame(CONTINUATION, END_HEADERS, 1, block.subarray(6)),
  ])
  for (const byte of bytes) client.send(Buffer.from([byte]))
  t.equal((await client.body(1)).toString(), 'GET /pieces ')
})

t.test('a head that is too large is answered so', async (t) => {
  const client = await (await startHttp2(t)).start()
  // Remembered once (literal with indexing), then named again and again.
  const long = Buffer.concat([Buffer.from([0x40, 1, 0x61, 126]), Buffer.alloc(126, 'x')])
  client.send(frame(HEADERS, whole, 1, Buffer.concat([get(), long, Buffer.alloc(1_000, 0xbe)])))
  await client.body(1)
  const answer = await client.wait(({ type }) => type === HEADERS)
  t.match(answer?.payload.toString('latin1'), '431')
  client.send(frame(HEADERS, whole, 3, get('/next')))
  t.equal((await client.body(3)).toString(), 'GET /next ', 'and the next request is taken')
})

t.test('streams that are reset again and again end the connection', async (t) => {
  // Its time stands still: a slow machine would be forgiven a part of them meanwhile.
  const clock = createVirtualClock(0)
  const client = await (await startHttp2(t, { onRequest() {}, clock })).start()
  for (let id = 1; id < 25_000; id += 2) {
    client.send(frame(HEADERS, whole, id, get()), frame(RST_STREAM, 0, id, uint32(8)))
  }
  t.equal(await client.errorCode(0), ENHANCE_YOUR_CALM)
})

t.test('frames for a stream that we ended ourselves are dropped', async (t) => {
  const server = await startHttp2(t, { onRequest: (_, response) => void response.writeHead(413).end() })
  const client = (await server.start()).send(frame(HEADERS, END_HEADERS, 1, post()))
  t.equal(await client.errorCode(1), NO_ERROR, 'nobody reads on')
  client.send(frame(DATA, 0, 1, [1, 2, 3]), frame(HEADERS, whole, 1, head([['a', 'b']])))
  t.ok(await client.isAlive())
})

t.test('garbage never does more than end its own connection', async (t) => {
  const server = await startHttp2(t)
  let seed = 20_261_121
  const random = (below: number): number => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff
    return (seed >> 8) % below
  }
  const bytes = (length: number): Buffer => Buffer.from(Array.from({ length }, () => random(256)))
  const ended: Promise<unknown>[] = []
  for (let i = 0; i < 200; i++) {
    const client = await server.start()
    for (let j = random(8); j >= 0; j--) {
      const piece = random(3)
      if (piece === 0) client.send(bytes(1 + random(100)))
      else if (piece === 1) client.send(frame(random(12), random(256), random(6), bytes(random(60))))
      else client.send(frame(HEADERS, random(256), 1 + 2 * j, Buffer.concat([get(), bytes(random(20))])))
    }
    client.socket.end()
    ended.push(client.closed)
  }
  await Promise.all(ended)
  const client = (await server.start()).send(answered)
  t.equal((await client.body(1)).toString(), 'GET / ')
  client.socket.destroy()
})
