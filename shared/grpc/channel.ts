import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2'
import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls, type SecureContextOptions, TLSSocket } from 'node:tls'
import type { Clock, Timer } from '../clock/clock.ts'
import { percentDecoded } from '../http/percent-decoded.ts'
import { frame, MessageReader } from './framing.ts'
import { GrpcError, grpcCodes } from './status.ts'

export interface GrpcChannelOptions {
  /** `https://host:port`, `http://host:port`, or `unix:///path` of a socket. */
  url: string
  tls?: Pick<SecureContextOptions, 'ca' | 'cert' | 'key'>
  clock: Clock
  /** Bounds a message that comes; by default nothing does. */
  maxMessageBytes?: number
}

export interface GrpcCallOptions {
  /** Bounds the wait for the answer, which else lasts as long as the connection. */
  timeoutMs?: number
  /** Ends the call, which the server is told. */
  signal?: AbortSignal
  metadata?: Readonly<Record<string, string>>
}

export interface GrpcStream {
  send(message: Buffer): void
  end(): void
  /** Ends it at once; `onEnd` is not called. */
  close(): void
}
interface StreamHandlers {
  onMessage(message: Buffer): void
  /** Runs once. The error is undefined if the server says that all is well. */
  onEnd(error: GrpcError | undefined): void
}

const connectTimeoutMs = 2_000
const pingEveryMs = 5_000
const pingTimeoutMs = 3_000
/** While our own event loop stands still, no answer is read: however long that takes, it is one part of the wait. */
const pingWaits = 6
/** This window suits large answers: Node's default of 64 KiB costs a round trip for each 64 KiB. */
const windowBytes = 8 * 1024 * 1024

/** gRPC with one server over one HTTP/2 connection, which is made when it is needed, and again when it has failed. */
export class GrpcChannel {
  readonly url: string
  readonly #tls: GrpcChannelOptions['tls']
  readonly #clock: Clock
  readonly #maxMessageBytes: number | undefined
  #session: Promise<ClientHttp2Session> | undefined

  constructor({ url, tls, clock, maxMessageBytes }: GrpcChannelOptions) {
    this.url = url
    this.#tls = tls
    this.#clock = clock
    this.#maxMessageBytes = maxMessageBytes
  }

  /** Sends one message and returns the answer. Rejects with a GrpcError. */
  async unary(path: string, message: Buffer, { timeoutMs, signal, metadata }: GrpcCallOptions): Promise<Buffer> {
    const session = await this.#connected()
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
    let answer: Buffer | undefined
    const stream = this.#open(session, path, {
      metadata,
      onMessage: (received) => {
        answer = Buffer.from(received)
      },
      onEnd: (error) => {
        if (answer && !error) resolve(answer)
        else reject(error ?? new GrpcError(grpcCodes.unavailable, 'the answer is empty', { wasSent: true }))
      },
    })
    const giveUp = (code: number, text: string): void => {
      stream.close(constants.NGHTTP2_CANCEL)
      reject(new GrpcError(code, text, { wasSent: true }))
    }
    const timer =
      timeoutMs === undefined
        ? undefined
        : this.#clock.setTimer(timeoutMs, () =>
            giveUp(grpcCodes.deadlineExceeded, `no answer within ${Math.round(timeoutMs / 100) / 10} s`),
          )
    const cancel = (): void => giveUp(grpcCodes.canceled, 'the call was canceled')
    signal?.addEventListener('abort', cancel)
    if (signal?.aborted) cancel()
    stream.end(frame(message))
    try {
      return await promise
    } finally {
      timer?.cancel()
      signal?.removeEventListener('abort', cancel)
    }
  }

  /** Messages in both directions, until one side ends. Rejects with a GrpcError when there is no connection. */
  async stream(path: string, handlers: StreamHandlers): Promise<GrpcStream> {
    const stream = this.#open(await this.#connected(), path, handlers)
    return {
      send: (message) => void stream.write(frame(message)),
      end: () => void stream.end(),
      close: () => stream.close(constants.NGHTTP2_CANCEL),
    }
  }

  /** Resolves when there is a connection. Rejects with a GrpcError when none can be made. */
  async connected(): Promise<void> {
    await this.#connected()
  }

  /** Ends the connection; the next call makes another. */
  close(): void {
    const closing = this.#session
    this.#session = undefined
    closing?.then(
      (session) => session.destroy(),
      () => {},
    )
  }

  #open(
    session: ClientHttp2Session,
    path: string,
    { metadata, onMessage, onEnd }: StreamHandlers & Pick<GrpcCallOptions, 'metadata'>,
  ): ClientHttp2Stream {
    const stream = session.request({
      ...metadata,
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
      te: 'trailers',
      // A member without a leader refuses, so that another is asked.
      hasleader: 'true',
    })
    let status: { code: number; text: string } | undefined
    let failure: Error | undefined
    const note = (headers: Record<string, unknown>): void => {
      const code = headers['grpc-status']
      if (code !== undefined)
        status = { code: Number(code), text: percentDecoded(String(headers['grpc-message'] ?? '')) }
      else if (headers[':status'] !== undefined && headers[':status'] !== 200)
        status = { code: grpcCodes.unimplemented, text: `HTTP status ${headers[':status']}` }
    }
    const reader = new MessageReader(onMessage, this.#maxMessageBytes)
    stream.on('response', note).on('trailers', note)
    stream.on('data', (chunk: Buffer) => {
      if (failure) return
      try {
        reader.push(chunk)
      } catch (error) {
        status = { code: grpcCodes.internal, text: (error as Error).message }
        failure = error as Error
        stream.close(constants.NGHTTP2_CANCEL)
      }
    })
    stream.on('error', (error) => {
      failure ??= error
    })
    stream.on('close', () => {
      if (status?.code === 0) return onEnd(undefined)
      const { code, text } = status ?? {
        code: grpcCodes.unavailable,
        text: failure?.message ?? 'the connection was lost',
      }
      onEnd(new GrpcError(code, text, { wasSent: true, cause: failure }))
    })
    return stream
  }

  async #connected(): Promise<ClientHttp2Session> {
    if (!this.#session) {
      const attempt = this.#connect(() => {
        if (this.#session === attempt) this.#session = undefined
      })
      this.#session = attempt
    }
    try {
      return await this.#session
    } catch (error) {
      const { message } = error as Error
      throw new GrpcError(grpcCodes.unavailable, message, { wasSent: false, cause: error })
    }
  }

  /** `onGone`: no more calls go this way. */
  async #connect(onGone: () => void): Promise<ClientHttp2Session> {
    const { promise, resolve, reject } = Promise.withResolvers<ClientHttp2Session>()
    const socket = this.#socket()
    const session = connect(socketPathOf(this.url) === undefined ? this.url : 'http://localhost', {
      createConnection: () => socket,
      settings: { initialWindowSize: windowBytes },
    })
    const leave = (error?: Error): void => {
      timer.cancel()
      reject(error ?? new Error('it closed the connection before it was ready, as where http and https are mixed up'))
      onGone()
    }
    // A session is not told of what its socket says before the first frame, such as that a certificate is missing.
    const fail = (failure: Error): void => {
      const error = duringHandshake(socket, failure)
      leave(error)
      session.destroy(error)
      // Before it is connected, a session leaves it open.
      socket.destroy()
    }
    const timer = this.#clock.setTimer(connectTimeoutMs, () => {
      fail(new Error(`no connection within ${connectTimeoutMs / 1000} s`))
    })
    // A server of another protocol never gets here.
    session.once('remoteSettings', () => {
      session.setLocalWindowSize(windowBytes)
      resolve(session)
    })
    socket.on('error', fail)
    session
      .on('error', fail)
      .on('close', () => leave())
      .on('goaway', () => leave())
    const ready = await promise
    timer.cancel()
    // The end of a process of this machine ends its sockets; and servers in Go may hang up on who pings often.
    if (socketPathOf(this.url) === undefined) this.#watchOver(ready)
    return ready
  }

  #socket(): Socket {
    const path = socketPathOf(this.url)
    if (path !== undefined) return connectTcp({ path })
    const { protocol, hostname, port } = new URL(this.url)
    const host = hostname.replace(/^\[|\]$/g, '')
    if (protocol === 'http:') return connectTcp(Number(port || 80), host)
    const servername = isIP(host) ? undefined : host
    return connectTls({ host, port: Number(port || 443), servername, ALPNProtocols: ['h2'], ...this.#tls })
  }

  /** A halted server, or one behind a cut network, closes nothing: without an answer to a ping it counts as lost. */
  #watchOver(session: ClientHttp2Session): void {
    let timer: Timer
    const wait = (): void => {
      timer = this.#clock.setTimer(pingEveryMs, ping, { background: true })
    }
    const lost = new Error(`no answer to a ping within ${pingTimeoutMs / 1000} s`)
    const listen = (waits: number): void => {
      const next = (): void => (waits > 1 ? listen(waits - 1) : session.destroy(lost))
      timer = this.#clock.setTimer(pingTimeoutMs / pingWaits, next, { background: true })
    }
    const ping = (): void => {
      if (session.destroyed) return
      listen(pingWaits)
      session.ping((error) => {
        timer.cancel()
        if (!error) wait()
      })
    }
    session.once('close', () => timer.cancel())
    wait()
  }
}

const socketPathOf = (url: string): string | undefined =>
  url.startsWith('unix:') ? url.slice('unix://'.length) : undefined

/** A server without TLS hangs up when it is greeted so, as does one that is ending: the error alone says neither. */
function duringHandshake(socket: Socket, error: NodeJS.ErrnoException): Error {
  const isGreeting = socket instanceof TLSSocket && socket.getProtocol() === null && error.code === 'ECONNRESET'
  return isGreeting ? new Error('it closed the connection during the TLS handshake', { cause: error }) : error
}
