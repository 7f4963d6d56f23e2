import { connect } from 'node:http2'
import { request } from 'node:https'
import { urlToHttpOptions } from 'node:url'
import { WebSocket } from 'ws'
import type { Server } from './server.ts'

export const transports = ['HTTP/1.1', 'HTTP/2', 'WebSocket'] as const
export type Transport = (typeof transports)[number]

export interface Listener {
  onStatus(status: number): void
  /** One event as JSON. What follows the last line break when a stream is cut is none. */
  onLine(line: string): void
}

export interface OpenWatch {
  /** Resolves when the stream has ended, for whatever reason. */
  ended: Promise<void>
  close(): void
}

/** Asks a server for a watch. `path`: with its query. */
export const openWatch = (transport: Transport, server: Server, path: string, listener: Listener): OpenWatch =>
  opens[transport](server, path, listener)

const opens: Record<Transport, (server: Server, path: string, listener: Listener) => OpenWatch> = {
  'HTTP/1.1': overHttp1,
  'HTTP/2': overHttp2,
  WebSocket: overWebSocket,
}

function overHttp1({ url, access: { ca, cert, key } }: Server, path: string, listener: Listener): OpenWatch {
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  const asked = request({ ...urlToHttpOptions(new URL(url + path)), agent: false, ca, cert, key }, (response) => {
    listener.onStatus(response.statusCode ?? 0)
    if (response.statusCode === 200) response.setEncoding('utf8').on('data', linesTo(listener))
    else response.resume()
    response.on('error', () => {}).on('close', resolve)
  })
  asked.on('error', () => resolve()).end()
  return { ended, close: () => asked.destroy() }
}

function overHttp2({ url, access: { ca, cert, key } }: Server, path: string, listener: Listener): OpenWatch {
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  const session = connect(url, { ca, cert, key })
  session.on('error', () => {}).on('close', resolve)
  const stream = session.request({ ':path': path })
  const read = linesTo(listener)
  let isGood = false
  stream.on('response', ({ ':status': status = 0 }) => {
    isGood = status === 200
    listener.onStatus(status)
  })
  stream.setEncoding('utf8').on('data', (chunk: string) => isGood && read(chunk))
  stream.on('error', () => {}).on('close', () => session.destroy())
  return { ended, close: () => session.destroy() }
}

function overWebSocket({ url, access: { ca, cert, key } }: Server, path: string, listener: Listener): OpenWatch {
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  const socket = new WebSocket(`${url.replace('https', 'wss')}${path}`, { ca, cert, key })
  socket.on('unexpected-response', (_, response) => {
    listener.onStatus(response.statusCode ?? 0)
    response.resume()
    socket.terminate()
    resolve()
  })
  socket.on('open', () => listener.onStatus(200))
  socket.on('message', (data: Buffer) => listener.onLine(data.toString('utf8')))
  socket.on('error', () => {}).on('close', () => resolve())
  return { ended, close: () => socket.terminate() }
}

function linesTo({ onLine }: Listener): (chunk: string) => void {
  let rest = ''
  return (chunk) => {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) onLine(line)
  }
}
