import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import type { AnswerSink } from '../answer-sinks.ts'
import type { PlainRequest, TransportOptions } from '../transport.ts'
import type { Body } from './outbox.ts'

/** Describes one request that is under way. */
export interface Asked {
  request: PlainRequest
  sink: AnswerSink
  /** True for a watch or another stream, which does not count as a request that is under way. */
  isStream: boolean
  /** Holds the stream once the request is under way. */
  stream?: Stream
}

/** A request that the server has, and its answer. */
export interface Stream extends Body {
  sink: AnswerSink
  isStream: boolean
  /** 0 until the answer's head has come. */
  status: number
  /** Received bytes that the server has not been told about. */
  received: number
}

/** Every socket is read into this buffer: a piece is handled before the next is read. */
const scratch = Buffer.alloc(64 * 1024)

/** Offers both versions of HTTP. */
export function openSocket(tls: TransportOptions['tls'], onRead: (data: Buffer) => void): TLSSocket {
  const callback = (bytes: number): boolean => {
    onRead(scratch.subarray(0, bytes))
    return true
  }
  const onread = { buffer: scratch, callback }
  const socket = connect({ ...tls, ALPNProtocols: ['h2', 'http/1.1'], onread } as ConnectionOptions)
  socket.setNoDelay(true)
  socket.setKeepAlive(true, tls.keepAliveMsecs)
  return socket
}
