/** SPDY and WebSocket clients that wish the kubelet ill: their connection ends, or is held up; time and memory stay bounded by what they sent. */
import { once } from 'node:events'
import { Duplex, duplexPair, PassThrough } from 'node:stream'
import t from 'tap'
import { WebSocket } from 'ws'
import { servePortForward } from '../../../kubelet/http/streaming/port-forward.ts'
import type { Clock } from '../../../shared/clock/clock.ts'
import { acceptSpdy } from '../../../shared/spdy/connection.ts'
import {
  controlFrame,
  dataFrame,
  numbers,
  ping,
  readFrames,
  rstStream,
  synStream,
} from '../../../shared/spdy/frames.ts'
import type { SpdyStream } from '../../../shared/spdy/stream.ts'
import { createOpener } from '../../harness/spdy-opener.ts'
import { until } from '../../harness/until.ts'
import { apiServer, ca, startNode } from './start-node.ts'

const MiB = 1024 * 1024
const used = () => {
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return (heapUsed + arrayBuffers) / MiB
}
const stdin = { streamtype: 'stdin' }

/** The kubelet's side, with a client that reads nothing. */
function accept(onStream: (stream: SpdyStream) => void = (stream) => stream.resume()) {
  const incoming = new PassThrough()
  const [outgoing] = duplexPair()
  const transport = Duplex.from({ readable: incoming, writable: outgoing } as never)
  return { incoming, transport, connection: acceptSpdy(transport, onStream) }
}

t.test('a frame of 16 MB in small pieces costs its bytes, not their square', async (t) => {
  const piece = Buffer.alloc(1000)
  const whole = dataFrame(1, Buffer.alloc(16_000_000), { fin: true })
  async function* pieces() {
    for (let at = 0; at < whole.length; at += piece.length) yield whole.subarray(at, at + piece.length)
  }
  const before = process.cpuUsage()
  let bytes = 0
  let ends = 0
  for await (const frame of readFrames(pieces())) {
    bytes += frame.payload.length
    if (frame.type === 'data' && frame.fin) ends++
  }
  t.same({ bytes, ends }, { bytes: 16_000_000, ends: 1 })
  const { user, system } = process.cpuUsage(before)
  t.ok(user + system < 2_000_000, `CPU time: ${(user + system) / 1e6} s`)
})

t.test('header blocks that inflate to too much end the connection', async (t) => {
  for (const size of [17_000, 100_000, 10 * MiB]) {
    const { incoming, connection } = accept()
    const open = createOpener()
    incoming.write(await open(1, stdin))
    incoming.write(await open(3, { streamtype: 'a'.repeat(size) }))
    await connection.closed
  }
  t.pass('each ends')
})

t.test('control frames that are too large, or open what is open, end the connection', async (t) => {
  const open = createOpener()
  const first = await open(1, stdin)
  const hostile = {
    'a large one': [controlFrame(200, Buffer.alloc(17_000))],
    'a stream twice': [first, await open(1, stdin)],
    'a stream of the server': [await createOpener()(2, stdin)],
    'a stream without a number': [controlFrame(synStream, Buffer.alloc(2))],
  }
  for (const [what, frames] of Object.entries(hostile)) {
    const { incoming, connection } = accept()
    for (const frame of frames) incoming.write(frame)
    await connection.closed
    t.pass(what)
  }
})

t.test('a client that reads no answers is not read either', async (t) => {
  const { incoming, transport, connection } = accept()
  const before = used()
  const pings = Buffer.concat(Array.from({ length: 1000 }, () => controlFrame(ping, numbers(7))))
  let sent = 0
  while (sent < 64 * MiB && incoming.writableLength < MiB) {
    incoming.write(pings)
    sent += pings.length
    await new Promise((resolve) => setImmediate(resolve))
  }
  t.ok(sent < 64 * MiB, `${sent} bytes were taken`)
  t.ok(used() - before < 50)
  transport.destroy()
  await connection.closed
})

t.test('thousands of streams, data for streams that are not open, resets of them, unknown frames', async (t) => {
  const [client, transport] = duplexPair()
  client.resume()
  const seen: number[] = []
  const connection = acceptSpdy(transport, (stream) => void seen.push(stream.id))
  const open = createOpener()
  const before = { memory: used(), cpu: process.cpuUsage() }
  for (let id = 1; id < 6_000; id += 2) client.write(await open(id, stdin))
  for (let at = 0; at < 20_000; at++)
    client.write(
      Buffer.concat([
        dataFrame(7_000 + at, Buffer.alloc(10), { fin: true }),
        controlFrame(rstStream, numbers(9_000 + at, 1)),
        controlFrame(9, numbers(1, 1)),
        controlFrame(200, Buffer.alloc(3)),
      ]),
    )
  client.end()
  await connection.closed
  t.equal(seen.length, 1_000)
  t.ok(used() - before.memory < 100)
  const { user, system } = process.cpuUsage(before.cpu)
  t.ok(user + system < 8_000_000, `CPU time: ${(user + system) / 1e6} s`)
})

t.test('one connection opens any number of streams, one after the other, each with its headers', async (t) => {
  const [client, transport] = duplexPair()
  client.resume()
  const seen: (string | undefined)[] = []
  const connection = acceptSpdy(transport, (stream) => {
    seen.push(stream.headers.get('streamtype'))
    stream.destroy()
  })
  const open = createOpener()
  for (let id = 1; id < 4_000; id += 2) client.write(await open(id, stdin))
  client.end()
  await connection.closed
  t.same([seen.length, new Set(seen)], [2_000, new Set(['stdin'])])
})

t.test('halves of connections that end are not waited for', async (t) => {
  const [client, transport] = duplexPair()
  client.resume()
  const timers = new Set<object>()
  let started = 0
  const setTimer = () => {
    started++
    const timer = { cancel: () => void timers.delete(timer) }
    timers.add(timer)
    return timer
  }
  const closed = servePortForward(transport, {
    clock: { machine: { setTimer } } as unknown as Clock,
    connect: async () => new PassThrough(),
    describe: 'web',
  })
  const open = createOpener()
  for (let id = 1; id < 2_000; id += 2) {
    client.write(await open(id, { port: '80', requestid: String(id), streamtype: 'error' }))
    client.write(controlFrame(rstStream, numbers(id, 5)))
  }
  client.write(controlFrame(ping, numbers(7)))
  await until(() => started === 1_000 && timers.size === 0, { what: 'the timers to end', timeoutMs: 10_000 })
  client.end()
  await closed
  t.equal(timers.size, 0)
})

t.test('WebSocket: frames that no client may send, and messages without end', async (t) => {
  const { port } = await startNode(t, { exec: () => ({ durationMs: 5_000 }) })
  const path = '/exec/ns/web/c?command=x&input=1&output=1&error=1'
  const connect = async () => {
    const socket = new WebSocket(`wss://127.0.0.1:${port}${path}`, ['v5.channel.k8s.io'], { ...apiServer, ca: ca.cert })
    await once(socket, 'open')
    const wire = (socket as unknown as { _socket: Duplex })._socket
    return { socket, wire, closed: once(socket, 'close') as Promise<[number]> }
  }
  const mask = [0, 0, 0, 0]
  const frames: Record<string, { bytes: number[]; code: number }> = {
    'without a mask': { bytes: [0x82, 1, 0], code: 1002 },
    'of 2^63 bytes': { bytes: [0x82, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0, ...mask], code: 1009 },
    'of 33 MiB': { bytes: [0x82, 0xff, 0, 0, 0, 0, 2, 0x10, 0, 0, ...mask], code: 1009 },
    'a ping of 126 bytes': { bytes: [0x89, 0xfe, 0, 126, ...mask], code: 1002 },
    'a ping in two': { bytes: [0x09, 0x80, ...mask], code: 1002 },
    'a continuation of nothing': { bytes: [0x80, 0x81, ...mask, 0], code: 1002 },
    'an unknown opcode': { bytes: [0x83, 0x80, ...mask], code: 1002 },
    'reserved bits': { bytes: [0xf2, 0x80, ...mask], code: 1002 },
    'a close of one byte': { bytes: [0x88, 0x81, ...mask, 0], code: 1002 },
  }
  for (const [what, { bytes, code }] of Object.entries(frames)) {
    const { wire, closed } = await connect()
    wire.write(Buffer.from(bytes))
    t.same((await closed)[0], code, what)
  }
  const { wire, closed } = await connect()
  const start = Buffer.from([0x02, 0x81, ...mask, 0])
  const again = Buffer.concat(Array.from({ length: 1_000 }, () => Buffer.from([0x00, 0x81, ...mask, 0])))
  const before = used()
  wire.write(start)
  for (let count = 0; count < 20; count++) wire.write(again)
  t.same((await closed)[0], 1008, 'fragments without end')
  t.ok(used() - before < 50)
})
