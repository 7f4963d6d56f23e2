import type { Duplex } from 'node:stream'
import {
  controlFrame,
  type Frame,
  flagFin,
  numbers,
  ping,
  readFrames,
  rstStream,
  synReply,
  synStream,
} from './frames.ts'
import { HeaderReader, HeaderWriter } from './header-blocks.ts'
import { SpdyStream } from './stream.ts'

export interface SpdyConnection {
  /** The client has gone, or was sent away. */
  closed: Promise<void>
  /** Sends what is still to be sent. */
  close(): void
}

/**
 * The server's side of SPDY/3.1 on any transport. As in the client's own implementation there are no windows: a stream that
 * nobody reads holds the whole connection up.
 */
export function acceptSpdy(transport: Duplex, onStream: (stream: SpdyStream) => void): SpdyConnection {
  const streams = new Map<number, SpdyStream>()
  const headers = new HeaderReader()
  const replies = new HeaderWriter()
  const send = (frame: Buffer, done: (error?: Error | null) => void = () => {}): void => {
    if (transport.writable) transport.write(frame, done)
    else done()
  }

  async function open(payload: Buffer, { fin }: { fin: boolean }): Promise<void> {
    const id = payload.readUInt32BE(0)
    const stream = new SpdyStream({ id, headers: await headers.read(payload.subarray(10)), send })
    streams.set(id, stream)
    stream.on('close', () => streams.delete(id))
    send(controlFrame(synReply, Buffer.concat([numbers(id), replies.empty()])))
    onStream(stream)
    if (fin) await stream.receive(Buffer.alloc(0), { fin })
  }

  async function onFrame(frame: Frame): Promise<void> {
    if (frame.type === 'data') {
      const stream = streams.get(frame.streamId)
      if (stream) await stream.receive(frame.payload, frame)
      return
    }
    const { kind, flags, payload } = frame
    if (kind === synStream) await open(payload, { fin: (flags & flagFin) !== 0 })
    else if (kind === ping) send(controlFrame(ping, payload))
    else if (kind === rstStream) streams.get(payload.readUInt32BE(0))?.reset()
  }

  const resetAll = (): void => {
    for (const stream of streams.values()) stream.reset()
  }

  async function run(): Promise<void> {
    try {
      for await (const frame of readFrames(transport)) await onFrame(frame)
    } catch {
      // The connection broke, or what came is not SPDY: either way it is over.
    } finally {
      headers.close()
      resetAll()
      transport.destroy()
    }
  }
  transport.on('error', () => {})
  transport.on('close', resetAll)
  return { closed: run(), close: () => transport.end() }
}
