import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, createServer, type TLSSocket } from 'node:tls'
import type { Test } from 'tap'
import type { Http2Choice } from '../../../apiserver/config.ts'
import { NodeHttp2Connection } from '../../../apiserver/http/node-http2/connection.ts'
import type { Clock } from '../../../shared/clock/clock.ts'
import { realClock } from '../../../shared/clock/real-clock.ts'
import { Http2Connection } from '../../../shared/http2/server/connection.ts'
import type { OnRequest } from '../../../shared/http2/server/streams.ts'
import { ensureClusterPki } from '../../../shared/pki/cluster-pki.ts'

export interface Frame {
  type: number
  flags: number
  streamId: number
  payload: Buffer
}

export const DATA = 0
export const HEADERS = 1
export const PRIORITY = 2
export const RST_STREAM = 3
export const SETTINGS = 4
export const PUSH_PROMISE = 5
export const PING = 6
export const GOAWAY = 7
export const WINDOW_UPDATE = 8
export const CONTINUATION = 9
export const END_STREAM = 1
export const ACK = 1
export const END_HEADERS = 4
export const PADDED = 8
export const HAS_PRIORITY = 0x20
/** A request without a body, in one frame. */
export const whole = END_STREAM | END_HEADERS
export const INITIAL_WINDOW_SIZE = 4
export const CANCEL = 8
export const ENHANCE_YOUR_CALM = 11

export function frame(type: number, flags: number, streamId: number, payload: Buffer | number[] = []): Buffer {
  const body = Buffer.from(payload)
  const head = Buffer.alloc(9)
  head.writeUIntBE(body.length, 0, 3)
  head[3] = type
  head[4] = flags
  head.writeUInt32BE(streamId, 5)
  return Buffer.concat([head, body])
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** A head of literal fields that nobody remembers; names and values below 127 bytes. */
export function head(fields: [string, string][]): Buffer {
  const text = (value: string): Buffer[] => [Buffer.from([value.length]), Buffer.from(value, 'latin1')]
  return Buffer.concat(fields.flatMap(([name, value]) => [Buffer.from([0]), ...text(name), ...text(value)]))
}

export const requestFields = (method = 'GET', path = '/'): [string, string][] => [
  [':method', method],
  [':scheme', 'https'],
  [':path', path],
  [':authority', 'x'],
]
export const get = (path = '/', ...more: [string, string][]): Buffer => head([...requestFields('GET', path), ...more])
export const post = (...more: [string, string][]): Buffer => head([...requestFields('POST'), ...more])

/** One side of a connection, frame by frame. */
export class RawClient {
  readonly socket: TLSSocket
  readonly frames: Frame[] = []
  readonly closed: Promise<unknown>
  #rest: Buffer = Buffer.alloc(0)
  #waiting: (() => void)[] = []

  constructor(socket: TLSSocket) {
    this.socket = socket
    this.closed = once(socket, 'close')
    socket.on('error', () => {})
    socket.on('data', (chunk: Buffer) => this.#read(chunk))
    socket.on('close', () => this.#wake())
  }

  send(...frames: Buffer[]): this {
    this.socket.write(Buffer.concat(frames))
    return this
  }

  /** The first frame that is wanted, whether it was here already or has yet to come; undefined when the connection ends without it. */
  async wait(isWanted: (frame: Frame) => boolean): Promise<Frame | undefined> {
    for (;;) {
      const found = this.frames.find(isWanted)
      if (found || this.socket.destroyed) return found
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
  }

  /** What a stream, or with 0 the connection, ended with. */
  async errorCode(streamId: number): Promise<number | undefined> {
    if (streamId === 0) return (await this.wait(({ type }) => type === GOAWAY))?.payload.readUInt32BE(4)
    const reset = (frame: Frame): boolean => frame.type === RST_STREAM && frame.streamId === streamId
    return (await this.wait(reset))?.payload.readUInt32BE(0)
  }

  /** The whole body of an answer. */
  async body(streamId: number): Promise<Buffer> {
    const ofStream = (frame: Frame): boolean => frame.streamId === streamId && frame.type <= HEADERS
    await this.wait((frame) => ofStream(frame) && (frame.flags & END_STREAM) !== 0)
    return Buffer.concat(
      this.frames.filter((frame) => ofStream(frame) && frame.type === DATA).map(({ payload }) => payload),
    )
  }

  /** Whether the connection still answers. */
  async isAlive(): Promise<boolean> {
    const opaque = Buffer.from('12345678')
    this.send(frame(PING, 0, 0, opaque))
    const answer = await this.wait(
      ({ type, flags, payload }) => type === PING && flags === ACK && payload.equals(opaque),
    )
    return answer !== undefined
  }

  #read(chunk: Buffer): void {
    let bytes = Buffer.concat([this.#rest, chunk])
    while (bytes.length >= 9 && bytes.length >= 9 + bytes.readUIntBE(0, 3)) {
      const end = 9 + bytes.readUIntBE(0, 3)
      const [type = 0, flags = 0] = bytes.subarray(3)
      this.frames.push({ type, flags, streamId: bytes.readUInt32BE(5), payload: bytes.subarray(9, end) })
      bytes = bytes.subarray(end)
    }
    this.#rest = bytes
    this.#wake()
  }

  #wake(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const wake of waiting) wake()
  }
}

export interface TestServer {
  port: number
  connections: Set<Pick<Http2Connection, 'close' | 'endIfIdle' | 'identified' | 'destroy'>>
  /** A connection without a word said on it. */
  open(): Promise<RawClient>
  /** One that has begun, with its SETTINGS (name, value) said. */
  start(settings?: [number, number][]): Promise<RawClient>
}

export const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
export const settings = (values: [number, number][] = []): Buffer =>
  frame(
    SETTINGS,
    0,
    0,
    Buffer.concat(values.flatMap(([name, value]) => [Buffer.from([name >> 8, name]), uint32(value)])),
  )

/** For a test in which no client is told from another. */
export const maxStreams = { anonymous: 10_000, identified: 10_000 }

/** Answers with what it was asked: method, path and body. */
export const echo: OnRequest = (request, response) => {
  const parts: Buffer[] = []
  request.on('data', (part) => parts.push(part as Buffer))
  request.on('end', () => {
    const body = Buffer.concat(parts).toString('latin1')
    response.writeHead(200, { 'content-type': 'text/plain' }).end(`${request.method} ${request.url} ${body}`)
  })
}

interface TestServerOptions {
  onRequest?: OnRequest
  clock?: Clock
  /** Default: own. */
  http2?: Http2Choice
}

export async function startHttp2(
  t: Test,
  { onRequest = echo, clock = realClock, http2 = 'own' }: TestServerOptions = {},
): Promise<TestServer> {
  const directory = mkdtempSync(join(tmpdir(), 'kubestage-http2-'))
  const pki = ensureClusterPki({
    directory,
    nowMs: realClock.now(),
    host: '127.0.0.1',
    serviceAddress: '10.96.0.1',
    nodeName: 'node-1',
  })
  const Connection = http2 === 'node' ? NodeHttp2Connection : Http2Connection
  const options = { clock, requestTimeoutMs: 60_000, maxStreams, maxUnreadBytes: 2 ** 24 }
  const server = createServer({ ...pki.apiServer, ALPNProtocols: ['h2'] })
  const connections: TestServer['connections'] = new Set()
  server.on('secureConnection', (socket) => {
    const connection = new Connection(socket, { ...options, onRequest: onRequest as never, onLimit() {} })
    connections.add(connection)
    socket.on('close', () => connections.delete(connection))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const clients: RawClient[] = []
  t.teardown(async () => {
    for (const { socket } of clients) socket.destroy()
    server.close()
    await once(server, 'close')
    rmSync(directory, { recursive: true, force: true })
  })
  const open = async (): Promise<RawClient> => {
    const socket = connect({ port, host: '127.0.0.1', ca: pki.ca.cert, ALPNProtocols: ['h2'] })
    await once(socket, 'secureConnect')
    const client = new RawClient(socket)
    clients.push(client)
    return client
  }
  return {
    port,
    connections,
    open,
    start: async (values) => (await open()).send(preface, settings(values)),
  }
}
