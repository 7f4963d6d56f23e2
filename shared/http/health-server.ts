import { createServer } from 'node:net'
import type { Clock } from '../clock/clock.ts'

export interface HealthAnswer {
  code: 200 | 404 | 500
  text: string
}

/** Answers a GET or HEAD for the target, which is a path with or without a query. */
export type Health = (target: string) => HealthAnswer

const phrases = { 200: 'OK', 404: 'Not Found', 500: 'Internal Server Error' }
const maxRequestBytes = 4_096
const patienceMs = 5_000

/**
 * `http://127.0.0.1:PORT/healthz` for a supervisor of this process; plain sockets, since HTTP for two words would cost
 * megabytes.
 */
export async function startHealthServer(
  port: number,
  clock: Clock,
  health: Health,
): Promise<{ port: number; close(): Promise<void> }> {
  const server = createServer((socket) => {
    let request = ''
    const patience = clock.machine.setTimer(patienceMs, () => socket.destroy())
    socket.on('error', () => socket.destroy()).on('close', () => patience.cancel())
    socket.setEncoding('latin1')
    socket.on('data', (text: string) => {
      request += text
      if (request.length > maxRequestBytes) return void socket.destroy()
      if (request.includes('\r\n\r\n')) socket.end(answerTo(request, health))
    })
  })
  server.maxConnections = 16
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve))
  const address = server.address()
  return {
    port: typeof address === 'object' && address ? address.port : port,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

function answerTo(request: string, health: Health): string {
  const target = /^(?:GET|HEAD) (\S+) /.exec(request)?.[1]
  const { code, text } = target === undefined ? notFound : health(target)
  const type = text && 'Content-Type: text/plain; charset=utf-8\r\n'
  const head = `HTTP/1.1 ${code} ${phrases[code]}\r\n${type}Content-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n\r\n`
  return request.startsWith('HEAD') ? head : head + text
}

export const notFound: HealthAnswer = { code: 404, text: '' }
