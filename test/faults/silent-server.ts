import net, { type AddressInfo } from 'node:net'

/** A server that accepts connections and never answers. */
export class SilentServer {
  readonly #sockets = new Set<net.Socket>()
  readonly #server = net.createServer((socket) => {
    this.#sockets.add(socket.resume())
    socket.on('error', () => {}).on('close', () => this.#sockets.delete(socket))
  })

  static async start(): Promise<SilentServer> {
    const silent = new SilentServer()
    await new Promise<void>((resolve) => silent.#server.listen(0, '127.0.0.1', () => resolve()))
    return silent
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** Of those that are open. */
  get connections(): number {
    return this.#sockets.size
  }

  close(): void {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
  }
}
