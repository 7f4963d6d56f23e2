import { connect, createServer, type Socket } from 'node:net'
import type { Test } from 'tap'
import { realClock } from '../../shared/clock/real-clock.ts'

/** A network between a client and a server that a test can cut. */
export class TcpProxy {
  readonly port: number
  readonly #sockets: Set<Socket>
  readonly #state: State

  constructor(port: number, sockets: Set<Socket>, state: State) {
    this.port = port
    this.#sockets = sockets
    this.#state = state
  }

  /** Ends all connections, and refuses new ones. */
  cut(): void {
    this.#state.isCut = true
    for (const socket of this.#sockets) socket.destroy()
  }

  /** What comes back is late by so much from now on. */
  slow(delayMs: number): void {
    this.#state.delayMs = delayMs
  }

  heal(): void {
    this.#state.isCut = false
    this.#state.delayMs = 0
  }
}

interface State {
  isCut: boolean
  delayMs: number
}

/** Passes bytes on to `target`, a URL; what comes back is late by `delayMs`. */
export async function startTcpProxy(
  t: Pick<Test, 'teardown'>,
  target: string,
  { delayMs = 0 } = {},
): Promise<TcpProxy> {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  const state: State = { isCut: false, delayMs }
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
    // In their order, also when the delay changes meanwhile.
    let waiting = 0
    let last = Promise.resolve()
    const pass = (chunk: Buffer): boolean => client.writable && client.write(chunk)
    upstream.on('data', (chunk: Buffer) => {
      if (state.delayMs === 0 && waiting === 0) {
        if (pass(chunk)) return
        upstream.pause()
        client.once('drain', () => upstream.resume())
        return
      }
      waiting++
      const dueMs = realClock.monotonic() + state.delayMs
      last = last.then(async () => {
        await realClock.sleep(Math.max(0, dueMs - realClock.monotonic()))
        pass(chunk)
        waiting--
      })
    })
    upstream.on('end', () => void last.then(() => client.end()))
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
