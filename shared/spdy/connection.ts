import type { Duplex } from 'node:stream'
import {
  controlFrame,
  type Frame,
  flagFin,
  numbers,
  ping,
  readFrames,
  rstStream,
  statusRefusedStream,
  synReply,
  synStream,
} from './frames.ts'
import { HeaderReader, HeaderWriter } from './header-blocks.ts'
import { SpdyStream } from './stream.ts'

/** Open at the same time: exec takes five, port-forward two for each connection. */
const maxStreams = 1_000

export interface SpdyConnection {
  /** The client has gone, or was sent away. */
  closed: Promise<void>
  /** Sends what is still to be sent. */
  close(): void
}

/**
 * Implements the server's side of SPDY/3.1 on any transport. As in client-go's implementation, streams have no
 * flow-control windows: a stream without a reader blocks the whole connection, and so does a client that does not read
 * its answers.
 */
export function acceptSpdy(transport: Duplex, onStream: (stream: SpdyStream) => void): SpdyConnection {
  const streams = new Map<number, SpdyStream>()
  let lastId = 0
  const headers = new HeaderReader()
  const replies = new HeaderWriter()
  const send = (frame: Buffer, done: (error?: Error | null) => void = () => {}): void => {
    if (transport.writable) transport.write(frame, done)
    else done()
  }

  let release = (): void => {}
  /** Resolves when the client has taken it, or has gone. */
  const answer = (frame: Buffer): Promise<void> =>
    new Promise((resolve) => {
      release = resolve
      send(frame, () => resolve())
    })

  async function open(payload: Buffer, { fin }: { fin: boolean }): Promise<void> {
    const id = payload.readUInt32BE(0)
    const stream = new SpdyStream({ id, headers: await headers.read(payload.subarray(10)), send })
    if (id % 2 === 0 || id <= lastId) throw new Error(`a client cannot open stream ${id} after ${lastId}`)
    lastId = id
    if (streams.size >= maxStreams) return answer(controlFrame(rstStream, numbers(id, statusRefusedStream)))
    streams.set(id, stream)
    stream.on('close', () => streams.delete(id))
    const replied = answer(controlFrame(synReply, Buffer.concat([numbers(id), replies.empty()])))
    onStream(stream)
    await replied
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
    else if (kind === ping) await answer(controlFrame(ping, payload))
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
  transport.on('close', () => {
    release()
    resetAll()
  })
  return { closed: run(), close: () => transport.end() }
}
