import type { Socket } from 'node:net'
import type { Clock, Timer } from '../../../shared/clock/clock.ts'
import type { Family } from '../../../shared/metrics/exposition.ts'
import { gauge } from '../../../shared/metrics/series.ts'
import type { ClientLimits } from './client-limits.ts'
import { clientOf } from './client-of.ts'
import type { Limits } from './limits.ts'
import { sweepsPerTimeout } from './sweeps.ts'

type HandshakeLimits = Pick<Limits, 'maxHandshakes' | 'handshakeTimeout'>

/**
 * TLS handshakes under way. A new one replaces the oldest when there are too many: a client that goes on with its own
 * is quicker. One that takes too long is ended.
 */
export class Handshakes {
  readonly #limits: HandshakeLimits
  readonly #clock: Clock
  readonly #reports: ClientLimits
  /** Holds handshakes by client, the oldest first: a TLS socket does not say which TCP socket is below it. */
  readonly #underWay = new Map<string, { socket: Socket; begunMs: number }>()
  #sweep: Timer | undefined

  constructor(limits: HandshakeLimits, { clock, reports }: { clock: Clock; reports: ClientLimits }) {
    this.#limits = limits
    this.#clock = clock
    this.#reports = reports
  }

  /** A TCP connection, before anything was said. */
  begun(socket: Socket): void {
    if (this.#underWay.size >= this.#limits.maxHandshakes) this.#closeOldest('maxHandshakes')
    const client = clientOf(socket)
    this.#underWay.set(client, { socket, begunMs: this.#clock.monotonic() })
    this.#sweepLater()
    socket.once('close', () => {
      if (this.#underWay.get(client)?.socket === socket) this.#underWay.delete(client)
    })
  }

  done(socket: Socket): void {
    this.#underWay.delete(clientOf(socket))
  }

  families(): Family[] {
    return [gauge('kubestage_apiserver_handshakes', 'TLS handshakes under way.', this.#underWay.size)]
  }

  close(): void {
    this.#sweep?.cancel()
  }

  #sweepLater(): void {
    const { handshakeTimeout } = this.#limits
    this.#sweep ??= this.#clock.setTimer(
      handshakeTimeout / sweepsPerTimeout,
      () => {
        this.#sweep = undefined
        this.#closeOverdue(this.#clock.monotonic() - handshakeTimeout)
        if (this.#underWay.size > 0) this.#sweepLater()
      },
      { background: true },
    )
  }

  #closeOverdue(beforeMs: number): void {
    for (const { begunMs } of this.#underWay.values()) {
      if (begunMs > beforeMs) return
      this.#closeOldest('handshakeTimeout')
    }
  }

  #closeOldest(limit: keyof HandshakeLimits): void {
    const [first] = this.#underWay
    if (!first) return
    const [client, { socket }] = first
    this.#underWay.delete(client)
    this.#reports.reached(limit, socket)
    socket.destroy()
  }
}
