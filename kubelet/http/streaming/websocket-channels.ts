import { Readable, Writable } from 'node:stream'
import type { WebSocket } from 'ws'

/**
 * Streams over one WebSocket: each message begins with the number of its channel, as a byte, or in base64 texts as a
 * digit.
 */
export class WebSocketChannels {
  readonly #socket: WebSocket
  readonly #base64: boolean
  readonly #inputs = new Map<number, Readable>()
  readonly #gone = new AbortController()
  /** Settles when the previous message has been sent. */
  #sent: Promise<void> = Promise.resolve()

  constructor(socket: WebSocket, { base64 }: { base64: boolean }) {
    this.#socket = socket
    this.#base64 = base64
    socket.on('error', () => {})
    socket.on('message', (data: Buffer, isBinary) => this.#receive(data, isBinary))
    socket.on('close', () => {
      this.#gone.abort()
      for (const input of this.#inputs.values()) if (!input.readableEnded) input.push(null)
    })
    socket.resume()
  }

  get gone(): AbortSignal {
    return this.#gone.signal
  }

  /** Returns what the client sends on the channel; without a reader it is discarded. */
  input(channel: number): Readable {
    const input = new Readable({ read: () => this.#socket.resume() })
    input.on('error', () => {})
    input.on('close', () => {
      this.#inputs.delete(channel)
      this.#socket.resume()
    })
    this.#inputs.set(channel, input)
    return input
  }

  output(channel: number): Writable {
    const output = new Writable({ write: (chunk: Buffer, _encoding, done) => this.send(channel, chunk, done) })
    output.on('error', () => {})
    return output
  }

  send(channel: number, data: Buffer, done: (error?: Error) => void = () => {}): void {
    const message = this.#base64 ? `${channel}${data.toString('base64')}` : Buffer.concat([Buffer.of(channel), data])
    this.#next((sent) => this.#socket.send(message, { binary: !this.#base64 }, sent)).then(() => done(), done)
  }

  /** Each message is a TLS record of its own: clients that poll their connection would not see the second one in it. */
  #next(send: (sent: (error?: Error) => void) => void): Promise<void> {
    const sent = this.#sent.then(
      () => new Promise<void>((resolve, reject) => send((error) => (error ? reject(error) : resolve()))),
    )
    this.#sent = sent.catch(() => {})
    return sent
  }

  endInput(channel: number): void {
    this.#inputs.get(channel)?.push(null)
    this.#inputs.delete(channel)
  }

  close(): void {
    void this.#sent.then(() => this.#socket.close(1000))
  }

  #receive(message: Buffer, isBinary: boolean): void {
    if (message.length === 0) return
    const isText = this.#base64 && !isBinary
    const channel = isText ? message[0]! - 48 : message[0]!
    const data = isText ? Buffer.from(message.toString('latin1', 1), 'base64') : message.subarray(1)
    if (channel === closeChannel) this.endInput(data[0] ?? -1)
    else if (data.length > 0 && this.#inputs.get(channel)?.push(data) === false) this.#socket.pause()
  }
}

/** Says that there is no more on another one: version 5. */
const closeChannel = 255
