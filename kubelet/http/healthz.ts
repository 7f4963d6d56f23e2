import { createServer } from 'node:net'
import type { Clock } from '../../shared/clock/clock.ts'

const OK =
  'HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok'
const NOT_FOUND = 'HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'
const LONGEST_REQUEST = 4_096
const PATIENCE_MS = 5_000

/**
 * `http://127.0.0.1:PORT/healthz` for a supervisor of this process; plain sockets, since HTTP for two words would cost
 * megabytes.
 */
export async function startHealthz(port: number, clock: Clock): Promise<{ port: number; close(): Promise<void> }> {
  const server = createServer((socket) => {
    let request = ''
    const patience = clock.machine.setTimer(PATIENCE_MS, () => socket.destroy())
    socket.on('error', () => socket.destroy()).on('close', () => patience.cancel())
    socket.setEncoding('latin1')
    socket.on('data', (text: string) => {
      request += text
      if (request.length > LONGEST_REQUEST) return void socket.destroy()
      if (request.includes('\r\n\r\n')) socket.end(/^(GET|HEAD) \/healthz /.test(request) ? OK : NOT_FOUND)
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
