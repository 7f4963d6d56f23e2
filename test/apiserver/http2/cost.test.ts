/** What one client can make the server do stays in proportion to what the client sends. */
import { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import t from 'tap'
import { createVirtualClock } from '../../../shared/clock/virtual-clock.ts'
import { Http2Connection } from '../../../shared/http2/server/connection.ts'
import type { OnRequest } from '../../../shared/http2/server/streams.ts'
import {
  CONTINUATION,
  END_HEADERS,
  END_STREAM,
  ENHANCE_YOUR_CALM,
  frame,
  GOAWAY,
  get,
  HEADERS,
  head,
  INITIAL_WINDOW_SIZE,
  maxStreams,
  post,
  preface,
  RST_STREAM,
  settings,
  uint32,
  WINDOW_UPDATE,
  whole,
} from './raw-client.ts'

/** The server's side alone, without TLS and without a client's work: what is measured is ours. */
class Wire extends Duplex {
  readonly frames: { type: number; streamId: number; payload: Buffer }[] = []
  setNoDelay(): void {}
  destroySoon(): void {
    this.destroy()
  }
  override _read(): void {}
  override _write(chunk: Buffer, _: unknown, done: () => void): void {
    for (let at = 0; at + 9 <= chunk.length; ) {
      const end = at + 9 + chunk.readUIntBE(at, 3)
      this.frames.push({
        type: chunk[at + 3]!,
        streamId: chunk.readUInt32BE(at + 5),
        payload: Buffer.from(chunk.subarray(at + 9, end)),
      })
      at = end
    }
    done()
  }
  /** Brings bytes as the network would, and lets the connection answer. */
  async bring(...frames: (Buffer | Buffer[])[]): Promise<void> {
    const bytes = Buffer.concat(frames.flat())
    for (let at = 0; at < bytes.length; at += 64 * 1024) {
      this.emit('data', bytes.subarray(at, at + 64 * 1024))
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  errorCode(): number | undefined {
    return this.frames.find(({ type }) => type === GOAWAY)?.payload.readUInt32BE(4)
  }
}

const never: OnRequest = () => {}

async function connection(values: [number, number][], onRequest: OnRequest = never) {
  const wire = new Wire()
  const clock = createVirtualClock(0)
  new Http2Connection(wire as unknown as TLSSocket, { clock, requestTimeoutMs: 60_000, onRequest, maxStreams })
  await wire.bring(preface, settings(values))
  return { wire, clock }
}

const streams = (count: number): Buffer[] =>
  Array.from({ length: count }, (_, index) => frame(HEADERS, whole, index * 2 + 1, get()))

/** CPU time of this process, in milliseconds. */
async function cpuMs(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

const repeated = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value)

t.test('SETTINGS full of window sizes, over many open streams', async (t) => {
  const { wire } = await connection([])
  await wire.bring(streams(9_000))
  const sizes = repeated(2_730, 0).map((_, index): [number, number] => [INITIAL_WINDOW_SIZE, 1_000 + (index % 2)])
  const one = await cpuMs(() => wire.bring(settings(sizes)))
  t.ok(one < 200, `one frame takes ${one} ms of CPU time`)
  t.equal(wire.errorCode(), undefined)
  const many = await cpuMs(() => wire.bring(repeated(5_000, settings([[INITIAL_WINDOW_SIZE, 7]]))))
  t.ok(many < 1_500, `5,000 frames take ${many} ms of CPU time`)
  t.equal(wire.errorCode(), ENHANCE_YOUR_CALM, 'a client that goes on is sent away')
})

t.test('WINDOW_UPDATE while many answers wait for the window of the connection', async (t) => {
  const { wire } = await connection([[INITIAL_WINDOW_SIZE, 2 ** 20]], (_, response) => {
    response.writeHead(200).end(Buffer.alloc(1_000))
  })
  await wire.bring(streams(9_000))
  const sent = wire.frames.length
  const ms = await cpuMs(async () => {
    for (let i = 0; i < 10_000; i++) await wire.bring(frame(WINDOW_UPDATE, 0, 3, uint32(1)))
  })
  t.ok(ms < 1_500, `10,000 frames for a stream, one at a time, take ${ms} ms of CPU time`)
  t.equal(wire.frames.length, sent, 'and let nothing out')
  const connectionMs = await cpuMs(async () => {
    for (let i = 0; i < 10_000; i++) await wire.bring(frame(WINDOW_UPDATE, 0, 0, uint32(1)))
  })
  t.ok(connectionMs < 1_500, `10,000 frames for the connection take ${connectionMs} ms of CPU time`)
})

t.test('answers that wait for the window of the connection leave in their order, and whole', async (t) => {
  const { wire } = await connection([[INITIAL_WINDOW_SIZE, 2 ** 20]], ({ url }, response) => {
    response.writeHead(200).end(url === '/empty' ? undefined : Buffer.alloc(40_000, url))
  })
  await wire.bring(
    ...['/a', '/b', '/c', '/empty'].map((path, index) => frame(HEADERS, whole, index * 2 + 1, get(path))),
  )
  const bodies = (): number[] =>
    [1, 3, 5].map((id) =>
      wire.frames
        .filter(({ type, streamId }) => type === 0 && streamId === id)
        .reduce((n, f) => n + f.payload.length, 0),
    )
  t.equal(
    bodies().reduce((a, b) => a + b),
    65_535,
  )
  t.equal(wire.frames.filter(({ type }) => type === HEADERS).length, 4, 'heads need no window')
  for (let round = 0; round < 10; round++) await wire.bring(frame(WINDOW_UPDATE, 0, 0, uint32(6_000)))
  t.same(bodies(), [40_000, 40_000, 40_000])
})

t.test('trailers that unpack to much more than was sent', async (t) => {
  const { wire } = await connection([])
  const open = (id: number): Buffer => frame(HEADERS, END_HEADERS, id, post(['content-length', '0']))
  // One large field in the table, then references of one byte to it.
  const value = Buffer.alloc(3_900, 'v')
  const length = Buffer.from([0x7f, ...sevenBits(value.length - 0x7f)])
  const large = Buffer.concat([Buffer.from([0x40, 1]), Buffer.from('x'), length, value])
  await wire.bring(frame(HEADERS, END_HEADERS, 1, Buffer.concat([post(), large])))
  const bomb = (id: number): Buffer[] => [
    open(id),
    frame(HEADERS, END_STREAM, id, Buffer.alloc(16_000, 0xbe)),
    frame(CONTINUATION, 0, id, Buffer.alloc(16_000, 0xbe)),
    frame(CONTINUATION, END_HEADERS, id, Buffer.alloc(16_000, 0xbe)),
  ]
  const bombs = Array.from({ length: 50 }, (_, index) => bomb(2 * index + 3)).flat()
  const bytes = bombs.reduce((sum, part) => sum + part.length, 0)
  const ms = await cpuMs(() => wire.bring(bombs))
  t.ok((ms * 1e6) / bytes < 200, `${(ms * 1e6) / bytes} ns of CPU time per byte`)
  t.equal(wire.frames.filter(({ type }) => type === RST_STREAM).length, 50, 'each is refused')
})

t.test('HEADERS on streams that the server has reset are counted', async (t) => {
  const { wire } = await connection([])
  await wire.bring(frame(HEADERS, END_HEADERS, 1, head([['x', 'no method']])))
  t.equal(wire.frames.filter(({ type }) => type === RST_STREAM).length, 1)
  await wire.bring(repeated(10_001, frame(HEADERS, whole, 1, head([['x', 'y']]))))
  t.equal(wire.errorCode(), ENHANCE_YOUR_CALM)
})

t.test('a head that is never complete', async (t) => {
  const { wire, clock } = await connection([])
  await clock.advance(1_000)
  await wire.bring(frame(HEADERS, END_STREAM, 1, get()))
  await clock.advance(59_000)
  t.equal(wire.errorCode(), undefined, 'it has as much time as a request')
  await clock.advance(61_000)
  t.equal(wire.errorCode(), ENHANCE_YOUR_CALM)
})

function sevenBits(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...sevenBits(value >> 7)]
}
