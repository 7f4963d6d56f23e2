import { Socket, type SocketConstructorOpts } from 'node:net'
import type { Door } from './door.ts'

/** Keeps sockets in the node's network that are not connected yet, so that a connection need not wait for the door. */
export class SpareSockets {
  readonly #open: () => Promise<Door>
  #sockets: Socket[] = []
  #wanted = 0
  #asked = 0
  #generation = 0

  constructor(open: () => Promise<Door>) {
    this.#open = open
  }

  /** Keeps so many from now on. */
  keep(count: number): void {
    this.#wanted = count
    for (const socket of this.#sockets.splice(count)) socket.destroy()
    this.#fill()
  }

  /** Returns a socket; undefined where none is there. */
  take(): Socket | undefined {
    const socket = this.#sockets.pop()
    this.#fill()
    return socket
  }

  /** Closes those of a network that has ended. */
  drop(): void {
    this.#generation += 1
    for (const socket of this.#sockets.splice(0)) socket.destroy()
  }

  #fill(): void {
    while (this.#sockets.length + this.#asked < this.#wanted) {
      this.#asked += 1
      void this.#ask(this.#generation).finally(() => {
        this.#asked -= 1
      })
    }
  }

  async #ask(generation: number): Promise<void> {
    try {
      const handle = await (await this.#open()).socket('spare', [])
      const socket = new Socket({ handle, manualStart: true } as SocketConstructorOpts)
      if (generation === this.#generation && this.#sockets.length < this.#wanted) this.#sockets.push(socket)
      else socket.destroy()
    } catch {
      // The next connection asks again.
    }
  }
}
