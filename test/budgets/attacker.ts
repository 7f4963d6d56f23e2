import { once } from 'node:events'
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2'
import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { preface, RawClient, settings } from '../apiserver/http2/raw-client.ts'
import type { Attack, Client, Request } from './attack.ts'
import type { Started } from './server.ts'

const writeBytes = 64 * 1024
const host = '127.0.0.1'

/** Carries out attacks, and counts what they send. */
export class Attacker {
  readonly #server: Started
  readonly #headers: Request['headers']
  readonly #sockets = new Set<Socket>()
  readonly #sessions: ClientHttp2Session[] = []
  bytes = 0
  requests = 0
  /** Answers that no request may get. */
  readonly wrong: string[] = []

  /** `headers`: of each request over HTTP/2, such as the token of a ServiceAccount. */
  constructor(server: Started, headers: Request['headers'] = {}) {
    this.#server = server
    this.#headers = headers
  }

  async carryOut(attack: Attack): Promise<void> {
    const { by = 'anonymous' } = attack
    if ('frames' in attack) await this.frames(by, attack.frames(), attack.settings)
    else if ('bytes' in attack) await this.http1(by, attack.bytes(), attack.connections)
    else if ('requests' in attack) await this.ask(by, attack.requests(), attack.answers)
    else await attack.act(this)
  }

  /** Leaves without a word. */
  leave(): void {
    for (const session of this.#sessions.splice(0)) session.destroy()
    for (const socket of this.#sockets) socket.destroy()
    this.#sockets.clear()
  }

  /** A connection after its handshake. */
  async connect(by: Client, protocol: 'h2' | 'http/1.1'): Promise<RawClient> {
    const { port, tls } = this.#server
    const credentials = by === 'admin' ? tls : { ca: tls.ca }
    const socket = connectTls({ port, host, ALPNProtocols: [protocol], ...credentials })
    this.#sockets.add(socket)
    await once(socket, 'secureConnect')
    this.requests++
    const client = new RawClient(socket)
    client.closed.catch(() => {})
    return client
  }

  /** A connection on which nothing was said. */
  async tcp(): Promise<Socket> {
    const socket = connectTcp(this.#server.port, host)
    this.#sockets.add(socket)
    socket.on('error', () => {}).resume()
    await once(socket, 'connect')
    this.requests++
    return socket
  }

  /** Resolves when the server has read all, or has closed the connection. */
  async frames(by: Client, frames: Buffer[], values: [number, number][] = []): Promise<RawClient> {
    const client = await this.connect(by, 'h2')
    await this.send(client.socket, [preface, settings(values), ...frames])
    await client.isAlive()
    return client
  }

  async http1(by: Client, parts: Buffer[], connections = 1): Promise<void> {
    for (let count = 0; count < connections; count++) {
      const { socket } = await this.connect(by, 'http/1.1')
      await this.send(socket, parts)
    }
  }

  async send(socket: Socket, parts: Buffer[]): Promise<void> {
    const all = Buffer.concat(parts)
    for (let at = 0; at < all.length && !socket.destroyed; at += writeBytes) {
      const part = all.subarray(at, at + writeBytes)
      this.bytes += part.length
      if (!socket.write(part)) await new Promise<void>((resolve) => whenFree(socket, resolve))
    }
  }

  async ask(by: Client, requests: Request[], answers: number[]): Promise<void> {
    const session = this.session(by)
    for (const request of requests) {
      const code = await this.request(session, request)
      if (!answers.includes(code)) this.wrong.push(`${request.method ?? 'GET'} ${request.path.slice(0, 80)}: ${code}`)
    }
  }

  session(by: Client, settings = {}): ClientHttp2Session {
    const { port, tls } = this.#server
    const credentials = by === 'admin' ? tls : { ca: tls.ca }
    // Of the client: bodies that wait to be sent count as well.
    const session = connectHttp2(`https://${host}:${port}`, { settings, maxSessionMemory: 1_000, ...credentials })
    session.on('error', () => {})
    this.#sessions.push(session)
    this.requests++
    return session
  }

  /** The code of the answer, which is read to its end; 0 when the stream was reset. */
  async request(session: ClientHttp2Session, { method = 'GET', path, type, headers, body }: Request): Promise<number> {
    const head = {
      ':method': method,
      ':path': path,
      ...(body !== undefined && { 'content-type': type ?? 'application/json' }),
      ...this.#headers,
      ...headers,
    }
    // Node sends a DELETE without a body unless it is told of one.
    const stream = session.request(head, { endStream: body === undefined })
    this.requests++
    this.bytes += path.length + Buffer.byteLength(body ?? '') + JSON.stringify(headers ?? {}).length
    let code = 0
    stream.on('response', (head) => {
      code = head[':status'] ?? 0
    })
    stream.on('error', () => {})
    stream.resume().end(body)
    await new Promise((resolve) => stream.once('close', resolve))
    return code
  }
}

function whenFree(socket: Socket, resolve: () => void): void {
  const done = (): void => {
    for (const event of ['drain', 'close']) socket.off(event, done)
    resolve()
  }
  for (const event of ['drain', 'close']) socket.on(event, done)
}
