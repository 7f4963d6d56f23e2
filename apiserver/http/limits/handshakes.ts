import type { Socket } from 'node:net'
import type { Logger } from '../../../shared/log/log.ts'
import type { Family } from '../../../shared/metrics/exposition.ts'
import { clientOf } from './client-of.ts'

/** TLS handshakes under way. A new one replaces the oldest when there are too many: a client that goes on with its own is quicker. */
export class Handshakes {
  readonly #most: number
  readonly #log: Logger
  /** By client, in the order in which they began: a TLS socket does not say which TCP socket is below it. */
  readonly #underWay = new Map<string, Socket>()
  #closed = 0

  constructor(most: number, log: Logger) {
    this.#most = most
    this.#log = log
  }

  /** A TCP connection, before anything was said. */
  begun(socket: Socket): void {
    if (this.#underWay.size >= this.#most) this.#closeOldest()
    const client = clientOf(socket)
    this.#underWay.set(client, socket)
    socket.once('close', () => {
      if (this.#underWay.get(client) === socket) this.#underWay.delete(client)
    })
  }

  done(socket: Socket): void {
    this.#underWay.delete(clientOf(socket))
  }

  families(): Family[] {
    return [
      {
        name: 'kubestage_apiserver_handshakes',
        type: 'gauge',
        help: 'TLS handshakes under way.',
        samples: [{ value: this.#underWay.size }],
      },
      {
        name: 'kubestage_apiserver_handshakes_closed_total',
        type: 'counter',
        help: 'TLS handshakes ended because too many were under way.',
        samples: [{ value: this.#closed }],
      },
    ]
  }

  #closeOldest(): void {
    const [first] = this.#underWay
    if (!first) return
    const [client, socket] = first
    this.#underWay.delete(client)
    this.#closed++
    this.#log.warn({ client, limit: this.#most }, 'TLS handshake ended: too many are under way')
    socket.destroy()
  }
}
