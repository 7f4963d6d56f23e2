import { connect, createServer, type Socket } from 'node:net'
import type { Test } from 'tap'
import { realClock } from '../../shared/clock/real-clock.ts'

/** A network between a client and a server that a test can cut. */
export class TcpProxy {
  readonly port: number
  readonly #sockets: Set<Socket>
  readonly #state: { isCut: boolean }

  constructor(port: number, sockets: Set<Socket>, state: { isCut: boolean }) {
    this.port = port
    this.#sockets = sockets
    this.#state = state
  }

  /** Ends all connections, and refuses new ones. */
  cut(): void {
    this.#state.isCut = true
    for (const socket of this.#sockets) socket.destroy()
  }

  heal(): void {
    this.#state.isCut = false
  }
}

/** Passes bytes on to `target`, a URL; what comes back is late by `delayMs`. */
export async function startTcpProxy(t: Test, target: string, { delayMs = 0 } = {}): Promise<TcpProxy> {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  const state = { isCut: false }
  const server = createServer((client) => {
    if (state.isCut) return void client.destroy()
    const upstream = connect(Number(port), hostname)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket
        .on('error', () => {})
        .on('close', () => {
          sockets.delete(socket)
          client.destroy()
          upstream.destroy()
        })
    }
    client.pipe(upstream)
    if (delayMs === 0) upstream.pipe(client)
    else upstream.on('data', (chunk) => realClock.setTimer(delayMs, () => client.writable && client.write(chunk)))
  })
  const { promise, resolve } = Promise.withResolvers<void>()
  server.listen(0, '127.0.0.1', resolve)
  await promise
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return new TcpProxy((server.address() as { port: number }).port, sockets, state)
}
