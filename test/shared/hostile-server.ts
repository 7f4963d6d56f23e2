/** A server that answers a client with whatever bytes a test wants, over TLS, in HTTP/1.1 or HTTP/2. */
import type { AddressInfo } from 'node:net'
import { createServer, type TLSSocket } from 'node:tls'
import type { Test } from 'tap'
import { createRestClient, type RestClientOptions } from '../../shared/client/rest-client.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { ensureClusterPki } from '../../shared/pki/cluster-pki.ts'

export interface HostileServer {
  client: ReturnType<typeof createRestClient>
  /** What clients sent, and how many of them came. */
  heard: { text: string; connections: number }
  url: string
  /** PEM. */
  ca: string
  /** How many connections have ended. */
  readonly closed: number
  /** Ends all connections. */
  drop(): void
}

export interface HostileOptions extends Partial<RestClientOptions> {
  /** Once the handshake is done. */
  onConnection?(socket: TLSSocket): void
  /** Once for each connection, when the head of the first request has come. */
  onRequest?(socket: TLSSocket): void
}

/** The end of a HEADERS frame's head: flags, and the stream's number. */
const streamOne = '\x05\0\0\0\x01'

let pki: ReturnType<typeof ensureClusterPki> | undefined

export async function hostileServer(
  t: Test,
  { onConnection, onRequest, ...options }: HostileOptions,
): Promise<HostileServer> {
  pki ??= ensureClusterPki({
    directory: t.testdir(),
    nowMs: Date.now(),
    host: '127.0.0.1',
    serviceAddress: '10.96.0.1',
    nodeName: 'node-1',
  })
  const { cert, key } = pki.apiServer
  const heard = { text: '', connections: 0 }
  let closed = 0
  const sockets = new Set<TLSSocket>()
  const ALPNProtocols = options.http2 ? ['h2'] : ['http/1.1']
  const server = createServer({ cert, key, ALPNProtocols }, (socket) => {
    sockets.add(socket)
    socket.on('close', () => {
      sockets.delete(socket)
      closed++
    })
    heard.connections++
    let said = ''
    let hasAsked = false
    socket.on('error', () => {})
    onConnection?.(socket)
    socket.on('data', (data) => {
      const text = data.toString('latin1')
      heard.text += text
      if (hasAsked) return
      said += text
      hasAsked = said.includes(options.http2 ? streamOne : '\r\n\r\n')
      if (hasAsked) onRequest?.(socket)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const access = { server: `https://127.0.0.1:${port}`, ca: pki.ca.cert, token: 'secret-token' }
  const client = createRestClient({ clock: realClock, requestTimeoutMs: 1_500, ...access, ...options })
  const drop = () => {
    for (const socket of sockets) socket.destroy()
  }
  t.teardown(async () => {
    await client.close()
    drop()
    server.close()
  })
  return {
    client,
    heard,
    url: access.server,
    ca: access.ca,
    get closed() {
      return closed
    },
    drop,
  }
}

/** Says it again and again for as long as the client listens. */
export function sayForEver(socket: TLSSocket, start: Buffer | string, again: Buffer | string): void {
  const piece = Buffer.from(again)
  const pieces = Buffer.concat(Array.from({ length: Math.ceil(60_000 / piece.length) }, () => piece))
  const more = (): void => {
    while (!socket.destroyed && socket.write(pieces));
  }
  socket.write(start)
  socket.on('drain', more)
  more()
}
