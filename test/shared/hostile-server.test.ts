/**
 * Our client against a server that wishes it ill: whatever comes, a request ends with an error that names it, in bounded time, memory
 * and CPU time, and the next request is asked as if nothing had been.
 */
import t from 'tap'
import { startReflector } from '../../shared/client/reflector.ts'
import { pods } from '../../shared/client/resources.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import {
  ACK,
  CONTINUATION,
  DATA,
  END_HEADERS,
  END_STREAM,
  frame,
  GOAWAY,
  HEADERS,
  PING,
  PUSH_PROMISE,
  RST_STREAM,
  SETTINGS,
  uint32,
  WINDOW_UPDATE,
} from '../apiserver/http2/raw-client.ts'
import { until } from '../harness/until.ts'
import { type HostileErrors, head, hostileAnswers } from './hostile-answers.ts'
import { hostileServer, sayForEver } from './hostile-server.ts'

t.setTimeout(200_000)

const rejections: unknown[] = []
process.on('unhandledRejection', (error) => rejections.push(error))

const MiB = 1024 * 1024
const used = () => {
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return (heapUsed + arrayBuffers) / MiB
}

interface Attack {
  /** The answer, which goes on with `again` for ever. */
  start?: string | Buffer
  again?: string | Buffer
  /** What the client's error says. */
  error: RegExp
}

const http1Errors: HostileErrors = {
  'nothing, for ever': /GET .*\/a: no answer within 1.5 s/,
  'a head without end': /head .* larger than 64 KiB|no answer within 1.5 s/,
  'interim answers without end': /head .* larger than 64 KiB/,
  'a body without end': /answer is larger than 64 MiB|no answer within 1.5 s/,
  'a length of 1 GB': /larger than 64 MiB/,
  'an extension without end': /line between/,
  'trailers without end': /64 KiB/,
  'chunks of garbage': /chunk without its size/,
  'a length below zero': /invalid length: -1/,
  'a length that is never reached': /no answer within 1.5 s/,
  'another protocol': /does not speak HTTP\/1.1: 220 smtp/,
  'a switch of protocols': /not asked for/,
  'no JSON': /GET .*\/a: the server's answer is not an object/,
  null: /GET .*\/a: the server's answer is not an object/,
  'a redirect': /Temporary Redirect/,
  'later, in a year': /Too Many/,
}
const http1: Record<string, Attack> = Object.fromEntries(
  Object.entries(http1Errors).map(([what, error]) => [what, { ...hostileAnswers[what as keyof HostileErrors], error }]),
)

const ok = Buffer.of(0x88)
const greeting = frame(SETTINGS, 0, 0, Buffer.alloc(0))
const goodAnswer = Buffer.concat([
  frame(HEADERS, END_HEADERS, 1, ok),
  frame(DATA, END_STREAM, 1, Buffer.from('{"a":1}')),
])
const initialWindow = Buffer.from([0, 4, 0x7f, 0xff, 0xff, 0xff])
const http2: Record<string, Attack> = {
  'nothing, for ever': { error: /no answer within 1.5 s/ },
  'a head without end': {
    start: frame(HEADERS, 0, 1, ok),
    again: frame(CONTINUATION, 0, 1, Buffer.alloc(1000)),
    error: /head .* larger than 64 KiB|no answer within 1.5 s/,
  },
  'empty parts of a head': {
    start: frame(HEADERS, 0, 1, ok),
    again: frame(CONTINUATION, 0, 1, Buffer.alloc(0)),
    error: /empty part of a head/,
  },
  'a head that breaks off': { start: Buffer.concat([frame(HEADERS, 0, 1, ok), greeting]), error: /broke a head off/ },
  'interim answers without end': { again: frame(HEADERS, END_HEADERS, 1, Buffer.from('\x08\x03103')), error: /floods/ },
  'a body without end': {
    start: frame(HEADERS, END_HEADERS, 1, ok),
    again: frame(DATA, 0, 1, Buffer.alloc(16_000)),
    error: /answer is larger than 64 MiB|no answer within 1.5 s/,
  },
  'a body without a head': { start: frame(DATA, END_STREAM, 1, Buffer.from('{}')), error: /body before its head/ },
  'an end without a head': {
    start: frame(HEADERS, END_HEADERS | END_STREAM, 1, Buffer.from('\x08\x03103')),
    error: /ended an answer before its head/,
  },
  'bodies of nothing': {
    start: frame(HEADERS, END_HEADERS, 1, ok),
    again: frame(DATA, 0, 1, Buffer.alloc(0)),
    error: /floods/,
  },
  'a flood of PING': { again: frame(PING, 0, 0, Buffer.alloc(8)), error: /floods|does not read/ },
  'a flood of PING acknowledgements': { again: frame(PING, ACK, 0, Buffer.alloc(8)), error: /floods/ },
  'a flood of SETTINGS': { again: greeting, error: /floods|does not read/ },
  'windows in one SETTINGS': {
    again: frame(SETTINGS, 0, 0, Buffer.concat(Array.from({ length: 2_700 }, () => initialWindow))),
    error: /floods|does not read|no answer within 1.5 s/,
  },
  'a flood of WINDOW_UPDATE': { again: frame(WINDOW_UPDATE, 0, 1, uint32(1)), error: /floods/ },
  'a window beyond its end': {
    again: frame(WINDOW_UPDATE, 0, 0, uint32(0x7fff_ffff)),
    error: /window wider than 2 GiB/,
  },
  'a flood of RST_STREAM': {
    start: frame(RST_STREAM, 0, 1, uint32(2)),
    again: frame(RST_STREAM, 0, 1, uint32(2)),
    error: /code 2/,
  },
  'a flood of GOAWAY': { again: frame(GOAWAY, 0, 0, Buffer.concat([uint32(1), uint32(0)])), error: /floods|closed/ },
  'a flood of unknown frames': { again: frame(200, 255, 0, Buffer.alloc(5)), error: /floods/ },
  'a push': { start: frame(PUSH_PROMISE, END_HEADERS, 1, Buffer.concat([uint32(2), ok])), error: /pushed a stream/ },
  'a stream of its own': { start: frame(HEADERS, END_HEADERS, 2, ok), error: /opened a stream, 2/ },
  'a stream that comes later': { start: frame(RST_STREAM, 0, 4711, uint32(0)), error: /opened a stream, 4711/ },
  'a WINDOW_UPDATE cut short': {
    start: frame(WINDOW_UPDATE, 0, 0, Buffer.alloc(3)),
    error: /windowUpdate frame of 3 bytes/,
  },
  'a GOAWAY cut short': { start: frame(GOAWAY, 0, 0, Buffer.alloc(4)), error: /goAway frame of 4 bytes/ },
  'a SETTINGS cut short': { start: frame(SETTINGS, 0, 0, Buffer.alloc(5)), error: /settings frame of 5 bytes/ },
  'padding beyond the payload': {
    start: frame(HEADERS, 0xc, 1, Buffer.of(200, 0x88)),
    error: /more padding than payload/,
  },
  'a frame of 16 MB': { start: Buffer.of(255, 255, 255, 0, 0, 0, 0, 0, 1), error: /frame of 16777215 bytes/ },
  'no status': { start: frame(HEADERS, END_HEADERS, 1, Buffer.from('\0\x01a\x01b')), error: /without its status/ },
}

for (const [version, attacks] of Object.entries({ 'HTTP/1.1': http1, 'HTTP/2': http2 })) {
  for (const [what, attack] of Object.entries(attacks)) {
    t.test(`${version}, ${what}: an error that says so, and the client goes on`, async (t) => {
      let isHostile = true
      const isHttp2 = version === 'HTTP/2'
      const server = await hostileServer(t, {
        http2: isHttp2,
        onConnection: (socket) => void (isHttp2 && socket.write(greeting)),
        onRequest: (socket) => {
          if (!isHostile) socket.write(isHttp2 ? goodAnswer : `${head}Content-Length: 7\r\n\r\n{"a":1}`)
          else if (attack.again) sayForEver(socket, attack.start ?? '', attack.again)
          else if (attack.start) socket.write(attack.start)
        },
      })
      const get = () => server.client.get(pods, { namespace: 'ns', name: 'a' })
      const before = { memory: used(), cpu: process.cpuUsage() }
      await t.rejects(get(), attack.error)
      t.ok(used() - before.memory < 400, `memory: ${used() - before.memory} MiB`)
      const { user, system } = process.cpuUsage(before.cpu)
      t.ok(user + system < 6_000_000, `CPU time: ${(user + system) / 1e6} s`)
      t.ok(server.heard.connections <= 2, 'asked again at most once')
      isHostile = false
      server.drop()
      t.same(await get().catch(get), { a: 1 })
    })
  }
}

const event = (object: unknown) => `${JSON.stringify({ type: 'ADDED', object })}\n`
const good = event({ metadata: { name: 'a', resourceVersion: '1' } })
const watches: Record<string, Attack> = {
  'nothing, for ever': { error: /GET .*watch.*: no answer within 0.5 s/ },
  'a head without end': {
    start: `${head}A: `,
    again: 'a',
    error: /Header overflow|HPE_HEADER_OVERFLOW|no answer within 0.5 s/,
  },
  'interim answers without end': {
    again: 'HTTP/1.1 103 Early Hints\r\n\r\n',
    error: /no answer within 0.5 s/,
  },
  'a refusal without end': { start: 'HTTP/1.1 403 Forbidden\r\n\r\n', error: /no answer within 0.5 s/ },
  'a watch that is never ended': { start: `${head}\r\n${good}`, error: /not ended the watch within 1.5 s/ },
  'what is no JSON': { start: `${head}\r\n{"type"\n`, error: /GET .*: the server sent an invalid event: {"type"/ },
  'null as an event': { start: `${head}\r\nnull\n`, error: /invalid event: null/ },
  'an event without an object': { start: `${head}\r\n{"type":"ERROR"}\n`, error: /invalid event: {"type":"ERROR"}/ },
  'an object without metadata': { start: `${head}\r\n${event({})}`, error: /invalid event: {"type":"ADDED"/ },
  'an error of the wrong types': {
    start: `${head}\r\n{"type":"ERROR","object":{"kind":"Status","message":{},"code":"x","details":5}}\n`,
    error: /^$/,
  },
  'a switch of protocols': {
    start: 'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n',
    error: /hang up|closed/,
  },
  'a redirect': {
    start: 'HTTP/1.1 302 Found\r\nLocation: https://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n',
    error: /Found/,
  },
}

for (const [what, attack] of Object.entries(watches)) {
  t.test(`a watch, ${what}: an error that says so`, async (t) => {
    const { client } = await hostileServer(t, {
      requestTimeoutMs: 500,
      onRequest: (socket) => {
        if (attack.again) sayForEver(socket, attack.start ?? '', attack.again)
        else if (attack.start) socket.write(attack.start)
      },
    })
    const watch = async () => {
      for await (const _ of client.watch(pods, { timeoutSeconds: 1 }));
    }
    const error = await watch().then(
      () => undefined,
      (error: Error) => error,
    )
    t.match(`${error?.message}`, attack.error)
  })
}

for (const http2 of [false, true])
  t.test(`a watch in HTTP/${http2 ? '2' : '1.1'} whose event has no end takes no more than 64 MiB`, async (t) => {
    const { client } = await hostileServer(t, {
      http2,
      onConnection: (socket) => void (http2 && socket.write(greeting)),
      onRequest: (socket) =>
        http2
          ? sayForEver(socket, frame(HEADERS, END_HEADERS, 1, ok), frame(DATA, 0, 1, Buffer.alloc(16_000, 'x')))
          : sayForEver(socket, `${head}\r\n`, 'x'.repeat(1000)),
    })
    const watch = async () => {
      for await (const _ of client.watch(pods, {}));
    }
    const before = used()
    await t.rejects(watch(), /a line is larger than 64 MiB/)
    t.ok(used() - before < 400, `memory: ${used() - before} MiB`)
  })

t.test('a stream that is not read takes no more than 64 MiB', async (t) => {
  const server = await hostileServer(t, {
    http2: true,
    onConnection: (socket) => void socket.write(greeting),
    onRequest: (socket) =>
      sayForEver(
        socket,
        frame(HEADERS, END_HEADERS, 1, ok),
        frame(DATA, 0, 1, Buffer.from(event({ metadata: { name: 'a'.repeat(15_000) } }))),
      ),
  })
  const events = server.client.watch(pods, {})[Symbol.asyncIterator]()
  await events.next()
  const before = used()
  await until(
    () => {
      if (used() - before > 400) throw new Error('too much memory')
      return server.heard.text.includes('\0\0\x04\x03\0\0\0\0\x01')
    },
    { what: 'RST_STREAM' },
  )
  const rest = async () => {
    while (!(await events.next()).done);
  }
  server.drop()
  await t.rejects(rest(), /faster than it was read is larger than 64 MiB/)
})

t.test(
  'a server that says "later" or "elsewhere" for ever is asked ever more rarely, and elsewhere nothing is asked',
  async (t) => {
    const elsewhere = await hostileServer(t, {})
    const { port } = new URL(elsewhere.url)
    const answers = [
      'HTTP/1.1 429 Too Many Requests\r\nRetry-After: 31536000\r\nContent-Length: 0\r\n\r\n',
      `HTTP/1.1 307 Temporary Redirect\r\nLocation: https://127.0.0.1:${port}/\r\nContent-Length: 0\r\n\r\n`,
    ]
    for (const answer of answers) {
      const server = await hostileServer(t, { onRequest: (socket) => socket.end(answer) })
      const errors: unknown[] = []
      const startedMs = performance.now()
      const replace = async (pages: AsyncIterable<unknown>) => void (await Array.fromAsync(pages))
      const store = { replace, upsert: () => {}, remove: () => {} }
      const reflector = startReflector({
        client: server.client,
        resource: pods,
        store,
        clock: realClock,
        random: () => 0,
        onError: (error) => void errors.push(error),
      })
      await until(() => errors.length >= 5, { what: 'five errors' })
      t.ok(performance.now() - startedMs > 50 + 100 + 200 + 400, 'each pause is longer')
      await reflector.stop()
      t.match(
        errors,
        Array.from({ length: 5 }, () => ({ code: Number(answer.slice(9, 12)) })),
      )
    }
    t.equal(elsewhere.heard.connections, 0)
  },
)

t.test('what the server says unasked is not the answer to the next request', async (t) => {
  const poison = `${head}Content-Length: 8\r\n\r\n{"bad":1`
  const server = await hostileServer(t, {
    onRequest: (socket) =>
      void socket.write(`${head}Content-Length: 7\r\n\r\n{"a":1}`, () => setImmediate(() => socket.write(poison))),
  })
  const get = () => server.client.get(pods, { namespace: 'ns', name: 'a' })
  t.same(await get(), { a: 1 })
  await until(() => server.closed > 0, { what: 'the end of the connection' })
  t.same(await get(), { a: 1 })
})

t.test('none of this is a rejection that nothing handles', async (t) => {
  t.same(rejections, [])
})
