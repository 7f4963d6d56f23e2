import { once } from 'node:events'
import { connect, type TLSSocket } from 'node:tls'
import { frameOf, uint32 } from '../shared/http2/frames.ts'
import { defaultWindow, Flag, FrameType, frameHeaderBytes, maxWindow, preface } from '../shared/http2/protocol.ts'

/** The server's address, and the client's credentials; PEM texts. */
export interface Target {
  host: string
  port: number
  ca: string
  cert: string
  key: string
  /** False: its certificate is of no CA. Default: true. */
  rejectUnauthorized?: boolean
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
 * Just enough HTTP/2 to load a server from the other core without being the slower of the two: a request costs a tenth
 * of what node:http2 spends on one. No header compression either way, unlimited receive windows, answers looked at but
 * not kept.
 */
export class Http2Connection {
  readonly #socket: TLSSocket
  readonly #authority: string
  readonly #streams = new Map<number, Stream>()
  #nextStream = 1
  #sendWindow = defaultWindow
  #unsent: Unsent[] = []
  #received = 0
  readonly #header = Buffer.alloc(frameHeaderBytes)
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
    socket.write(preface)
    socket.write(frameOf(FrameType.settings, 0, 0, Buffer.from([...noHeaderTable, ...largestStreamWindow])))
    socket.write(frameOf(FrameType.windowUpdate, 0, 0, uint32(maxWindow - defaultWindow)))
    socket.on('data', (chunk: Buffer) => this.#read(chunk))
    socket.on('error', (error) => this.#fail(error))
    socket.on('close', () => this.#fail(new Error('the server closed the connection')))
  }

  /** Resolves at the end of the answer; rejects when it is a Status failure. */
  request(request: Request, onData?: (payload: Buffer) => void): Promise<Answer> {
    return this.#start(request, { onData })
  }

  /** A stream that goes on; resolves when the head of the answer is there. `onEnd`: the server ended it. */
  async stream(path: string, onData: (payload: Buffer) => void, onEnd = (): void => {}): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#start({ method: 'GET', path }, { onData, onHead: resolve }).then(onEnd, reject)
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
    const headers = frameOf(FrameType.headers, Flag.endHeaders | (body ? 0 : Flag.endStream), id, block)
    return new Promise<Answer>((resolve, reject) => {
      this.#streams.set(id, { bytes: 0, beginning: undefined, resolve, reject, ...callbacks })
      if (!body) this.#socket.write(headers)
      else
        this.#send({
          frames: Buffer.concat([headers, frameOf(FrameType.data, Flag.endStream, id, body)]),
          size: body.length,
        })
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
        const taken = chunk.copy(this.#header, this.#headerFilled, at, at + frameHeaderBytes - this.#headerFilled)
        at += taken
        this.#headerFilled += taken
        if (this.#headerFilled < frameHeaderBytes) return
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
    if (this.#frame!.type !== FrameType.data) {
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
    if (type === FrameType.headers) stream?.onHead?.()
    if (type === FrameType.data) this.#widen(length)
    if ((type === FrameType.headers || type === FrameType.data) && flags & Flag.endStream) this.#end(id)
    if (type === FrameType.settings && !(flags & Flag.ack))
      this.#socket.write(frameOf(FrameType.settings, Flag.ack, 0, []))
    if (type === FrameType.ping && !(flags & Flag.ack))
      this.#socket.write(frameOf(FrameType.ping, Flag.ack, 0, payload))
    if (type === FrameType.windowUpdate && id === 0) this.#widenSending(payload.readUInt32BE(0))
    if (type === FrameType.goAway) this.#fail(new Error(`the server went away: ${payload.subarray(8)}`))
    if (type === FrameType.resetStream) stream?.reject(new Error(`stream reset, code ${payload.readUInt32BE(0)}`))
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
    if (this.#received < maxWindow / 4) return
    this.#socket.write(frameOf(FrameType.windowUpdate, 0, 0, uint32(this.#received)))
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
