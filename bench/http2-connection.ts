import { once } from 'node:events'
import { connect, type TLSSocket } from 'node:tls'

/** The server's address, and the client's credentials; PEM texts. */
export interface Target {
  host: string
  port: number
  ca: string
  cert: string
  key: string
}
export interface Request {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  path: string
  contentType?: string
  body?: Buffer
}
export interface Answer {
  bytes: number
  /** The first chunk of the body, to see whether it is what we asked for. */
  beginning: string
}

const FRAME = { data: 0, headers: 1, resetStream: 3, settings: 4, ping: 6, goAway: 7, windowUpdate: 8 }
const FLAG = { endStream: 1, ack: 1, endHeaders: 4 }
const LARGEST_WINDOW = 2 ** 31 - 1
const DEFAULT_WINDOW = 65_535
const HEADER_BYTES = 9
const FAILURE = '{"kind":"Status"'

interface Stream {
  bytes: number
  beginning: Buffer | undefined
  onHead?(): void
  onData?(payload: Buffer): void
  resolve(answer: Answer): void
  reject(error: Error): void
}

interface Unsent {
  frames: Buffer
  /** What the server's window counts: the body alone. */
  size: number
}

/**
 * Just enough HTTP/2 to load a server from the other core without being the slower of the two: a request costs a tenth of
 * what node:http2 spends on one. No header compression either way, unlimited receive windows, answers looked at but not kept.
 */
export class Http2Connection {
  readonly #socket: TLSSocket
  readonly #authority: string
  readonly #streams = new Map<number, Stream>()
  #nextStream = 1
  #sendWindow = DEFAULT_WINDOW
  #unsent: Unsent[] = []
  #received = 0
  readonly #header = Buffer.alloc(HEADER_BYTES)
  #headerFilled = 0
  #frame: { length: number; type: number; flags: number; stream: number } | undefined
  #frameLeft = 0
  #payload: Buffer[] = []

  static async open(target: Target): Promise<Http2Connection> {
    const socket = connect({ ...target, servername: '', ALPNProtocols: ['h2'] })
    socket.setNoDelay(true)
    await once(socket, 'secureConnect')
    return new Http2Connection(socket, `${target.host}:${target.port}`)
  }

  private constructor(socket: TLSSocket, authority: string) {
    this.#socket = socket
    this.#authority = authority
    const noHeaderTable = [0, 1, 0, 0, 0, 0]
    const largestStreamWindow = [0, 4, 0x7f, 0xff, 0xff, 0xff]
    socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
    socket.write(frame(FRAME.settings, 0, 0, Buffer.from([...noHeaderTable, ...largestStreamWindow])))
    socket.write(frame(FRAME.windowUpdate, 0, 0, uint32(LARGEST_WINDOW - DEFAULT_WINDOW)))
    socket.on('data', (chunk: Buffer) => this.#read(chunk))
    socket.on('error', (error) => this.#fail(error))
    socket.on('close', () => this.#fail(new Error('the server closed the connection')))
  }

  /** Resolves at the end of the answer; rejects when it is a Status failure. */
  request(request: Request, onData?: (payload: Buffer) => void): Promise<Answer> {
    return this.#start(request, { onData })
  }

  /** A stream that goes on; resolves when the head of the answer is there. */
  async stream(path: string, onData: (payload: Buffer) => void): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#start({ method: 'GET', path }, { onData, onHead: resolve }).catch(reject)
    })
  }

  close(): void {
    this.#streams.clear()
    this.#socket.destroy()
  }

  #start({ method, path, contentType, body }: Request, callbacks: Pick<Stream, 'onHead' | 'onData'>): Promise<Answer> {
    const id = this.#nextStream
    this.#nextStream += 2
    const block = headerBlock({
      ':method': method,
      ':path': path,
      ':scheme': 'https',
      ':authority': this.#authority,
      accept: 'application/json',
      ...(contentType && { 'content-type': contentType }),
      ...(body && { 'content-length': String(body.length) }),
    })
    const headers = frame(FRAME.headers, FLAG.endHeaders | (body ? 0 : FLAG.endStream), id, block)
    return new Promise<Answer>((resolve, reject) => {
      this.#streams.set(id, { bytes: 0, beginning: undefined, resolve, reject, ...callbacks })
      if (!body) this.#socket.write(headers)
      else
        this.#send({ frames: Buffer.concat([headers, frame(FRAME.data, FLAG.endStream, id, body)]), size: body.length })
    })
  }

  /** Keeps requests with a body back while the server's window for us is too small. */
  #send(unsent: Unsent): void {
    if (this.#unsent.length > 0 || unsent.size > this.#sendWindow) {
      this.#unsent.push(unsent)
      return
    }
    this.#sendWindow -= unsent.size
    this.#socket.write(unsent.frames)
  }

  #read(chunk: Buffer): void {
    for (let at = 0; at < chunk.length || (this.#frame && this.#frameLeft === 0); ) {
      if (!this.#frame) {
        const taken = chunk.copy(this.#header, this.#headerFilled, at, at + HEADER_BYTES - this.#headerFilled)
        at += taken
        this.#headerFilled += taken
        if (this.#headerFilled < HEADER_BYTES) return
        this.#beginFrame()
      }
      const part = chunk.subarray(at, at + this.#frameLeft)
      at += part.length
      this.#frameLeft -= part.length
      this.#take(part)
      if (this.#frameLeft === 0) this.#endFrame()
    }
  }

  #beginFrame(): void {
    const header = this.#header
    this.#headerFilled = 0
    this.#frame = {
      length: header.readUIntBE(0, 3),
      type: header[3]!,
      flags: header[4]!,
      stream: header.readUInt32BE(5),
    }
    this.#frameLeft = this.#frame.length
    this.#payload = []
  }

  #take(part: Buffer): void {
    if (this.#frame!.type !== FRAME.data) {
      this.#payload.push(part)
      return
    }
    const stream = this.#streams.get(this.#frame!.stream)
    if (!stream) return
    stream.bytes += part.length
    stream.beginning ??= part.subarray(0, 400)
    stream.onData?.(part)
  }

  #endFrame(): void {
    const { type, flags, stream: id, length } = this.#frame!
    const stream = this.#streams.get(id)
    const payload = this.#payload.length === 1 ? this.#payload[0]! : Buffer.concat(this.#payload)
    this.#frame = undefined
    if (type === FRAME.headers) stream?.onHead?.()
    if (type === FRAME.data) this.#widen(length)
    if ((type === FRAME.headers || type === FRAME.data) && flags & FLAG.endStream) this.#end(id)
    if (type === FRAME.settings && !(flags & FLAG.ack)) this.#socket.write(frame(FRAME.settings, FLAG.ack, 0))
    if (type === FRAME.ping && !(flags & FLAG.ack)) this.#socket.write(frame(FRAME.ping, FLAG.ack, 0, payload))
    if (type === FRAME.windowUpdate && id === 0) this.#widenSending(payload.readUInt32BE(0))
    if (type === FRAME.goAway) this.#fail(new Error(`the server went away: ${payload.subarray(8)}`))
    if (type === FRAME.resetStream) stream?.reject(new Error(`stream reset, code ${payload.readUInt32BE(0)}`))
  }

  #end(id: number): void {
    const stream = this.#streams.get(id)
    this.#streams.delete(id)
    if (!stream) return
    const beginning = stream.beginning?.toString('latin1') ?? ''
    if (beginning.startsWith(FAILURE)) stream.reject(new Error(beginning))
    else stream.resolve({ bytes: stream.bytes, beginning })
  }

  #widen(received: number): void {
    this.#received += received
    if (this.#received < LARGEST_WINDOW / 4) return
    this.#socket.write(frame(FRAME.windowUpdate, 0, 0, uint32(this.#received)))
    this.#received = 0
  }

  #widenSending(by: number): void {
    this.#sendWindow += by
    const waiting = this.#unsent
    this.#unsent = []
    for (const unsent of waiting) this.#send(unsent)
  }

  #fail(error: Error): void {
    for (const { reject } of this.#streams.values()) reject(error)
    this.#streams.clear()
  }
}

function frame(type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const bytes = Buffer.allocUnsafe(HEADER_BYTES + payload.length)
  bytes.writeUIntBE(payload.length, 0, 3)
  bytes[3] = type
  bytes[4] = flags
  bytes.writeUInt32BE(stream, 5)
  payload.copy(bytes, HEADER_BYTES)
  return bytes
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** Every field as a literal without indexing (RFC 7541, 6.2.2). */
function headerBlock(fields: Record<string, string>): Buffer {
  const parts: string[] = []
  for (const [name, value] of Object.entries(fields)) parts.push('\0', literal(name), literal(value))
  return Buffer.from(parts.join(''), 'latin1')
}

/** A length in 7 bits, with more bytes from 127 on (RFC 7541, 5.1), then the text. */
function literal(text: string): string {
  if (text.length < 127) return String.fromCharCode(text.length) + text
  const rest = text.length - 127
  const more = rest < 128 ? String.fromCharCode(rest) : String.fromCharCode((rest & 127) | 128, rest >> 7)
  return String.fromCharCode(127) + more + text
}
