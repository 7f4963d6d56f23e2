import type { Duplex } from 'node:stream'
import { controlFrame, flagFin, numbers, ping, readFrames, rstStream, synReply, synStream } from './frames.ts'
import { HeaderPacker } from './header-packer.ts'
import { SpdyStream } from './stream.ts'

interface Opened {
  stream: SpdyStream
  accepted: PromiseWithResolvers<void>
}

/**
 * Implements the client's side of SPDY/3.1 on any transport, as far as streaming servers of the CRI need it: streams
 * that we open, without flow-control windows.
 */
export class SpdyClient {
  /** Resolves when the connection is over. */
  readonly closed: Promise<void>
  readonly #transport: Duplex
  readonly #headers = new HeaderPacker()
  readonly #streams = new Map<number, Opened>()
  #nextId = 1
  #isOver = false

  constructor(transport: Duplex) {
    this.#transport = transport
    transport.on('error', () => {})
    this.closed = this.#run()
  }

  /** Opens a stream. Resolves when the server has accepted it; rejects when it refuses it, or has gone. */
  async open(headers: Readonly<Record<string, string>>): Promise<SpdyStream> {
    const id = this.#nextId
    this.#nextId += 2
    const stream = new SpdyStream({ id, headers: new Map(), send: (...frame) => this.#send(...frame) })
    const accepted = Promise.withResolvers<void>()
    accepted.promise.catch(() => {})
    if (this.#isOver) throw gone()
    this.#streams.set(id, { stream, accepted })
    stream.on('close', () => this.#streams.delete(id))
    const block = await this.#headers.pack(headers)
    this.#send(controlFrame(synStream, Buffer.concat([numbers(id, 0), Buffer.alloc(2), block])))
    await accepted.promise
    return stream
  }

  close(): void {
    this.#transport.destroy()
    for (const { stream } of this.#streams.values()) stream.reset()
  }

  #send(frame: Buffer, done: (error?: Error | null) => void = () => {}): void {
    if (this.#transport.writable) this.#transport.write(frame, done)
    else done(gone())
  }

  async #run(): Promise<void> {
    try {
      for await (const frame of readFrames(this.#transport)) {
        if (frame.type === 'data') {
          await this.#streams.get(frame.streamId)?.stream.receive(frame.payload, frame)
          continue
        }
        const { kind, flags, payload } = frame
        if (kind === ping) this.#send(controlFrame(ping, payload))
        if ((kind !== synReply && kind !== rstStream) || payload.length < 4) continue
        const opened = this.#streams.get(payload.readUInt32BE(0))
        const isReset = kind === rstStream
        if (isReset) opened?.accepted.reject(new Error('the server has refused the stream'))
        else opened?.accepted.resolve()
        // Servers in Go reset their streams when they have said all: what came before is still to be read.
        if (isReset || (flags & flagFin) !== 0) await opened?.stream.receive(Buffer.alloc(0), { fin: true })
      }
      // What came before the end is still to be read.
      for (const { stream } of this.#streams.values()) void stream.receive(Buffer.alloc(0), { fin: true })
    } catch {
      // The connection broke, or what came is not SPDY: either way it is over.
      for (const { stream } of this.#streams.values()) stream.reset()
    } finally {
      this.#isOver = true
      for (const { accepted } of this.#streams.values()) accepted.reject(gone())
      this.#headers.close()
      this.#transport.destroy()
    }
  }
}

const gone = (): Error => new Error('the connection was closed')
