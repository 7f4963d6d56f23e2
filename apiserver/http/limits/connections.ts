import type { Socket } from 'node:net'
import type { Clock, Timer } from '../../../shared/clock/clock.ts'
import type { Logger } from '../../../shared/log/log.ts'
import type { Family } from '../../../shared/metrics/exposition.ts'
import { clientOf } from './client-of.ts'
import type { Limits } from './limits.ts'

/** What a connection is asked to do; an HTTP/1.1 connection needs none of it, since Node does it. */
export interface Tracked {
  /** Its client has shown valid credentials. */
  identified(): void
  /** Ends itself when no request has come for so long. */
  endIfIdle(idleMs: number): void
}

type ConnectionLimits = Pick<Limits, 'connections' | 'anonymousConnections' | 'idleMs'>

/** Idle connections are looked for so often per idle time. */
const sweepsPerIdleTime = 4

/**
 * The open connections of the server. A new one replaces the oldest whose client is unknown when there are too many of those:
 * unauthenticated clients can only displace each other.
 */
export class Connections {
  readonly #limits: ConnectionLimits
  readonly #clock: Clock
  readonly #log: Logger
  readonly #all = new Map<Socket, Tracked | undefined>()
  /** In the order in which they were opened. */
  readonly #anonymous = new Set<Socket>()
  readonly #closed = { anonymous: 0, refused: 0 }
  #sweep: Timer | undefined

  constructor(limits: ConnectionLimits, { clock, log }: { clock: Clock; log: Logger }) {
    this.#limits = limits
    this.#clock = clock
    this.#log = log
    this.#sweepLater()
  }

  /** A connection after its TLS handshake. False when it was closed, because there are too many. */
  add(socket: Socket, tracked: Tracked | undefined, isIdentified: boolean): boolean {
    if (this.#all.size >= this.#limits.connections && !this.#closeOldestAnonymous()) {
      this.#closed.refused++
      this.#log.warn(
        { client: clientOf(socket), limit: this.#limits.connections },
        'connection refused: too many are open',
      )
      socket.destroy()
      return false
    }
    this.#all.set(socket, tracked)
    socket.once('close', () => this.#remove(socket))
    if (isIdentified) tracked?.identified()
    else {
      this.#anonymous.add(socket)
      if (this.#anonymous.size > this.#limits.anonymousConnections) this.#closeOldestAnonymous()
    }
    return true
  }

  /** A request on the connection had valid credentials. */
  identified(socket: Socket): void {
    if (this.#anonymous.delete(socket)) this.#all.get(socket)?.identified()
  }

  families(): Family[] {
    const { size: all } = this.#all
    const { size: anonymous } = this.#anonymous
    return [
      {
        name: 'kubestage_apiserver_connections',
        type: 'gauge',
        help: 'Open connections, by whether their client has shown valid credentials.',
        samples: [
          { labels: { client: 'anonymous' }, value: anonymous },
          { labels: { client: 'identified' }, value: all - anonymous },
        ],
      },
      {
        name: 'kubestage_apiserver_connections_closed_total',
        type: 'counter',
        help: 'Connections closed because too many were open: the oldest anonymous one, or the new one.',
        samples: [
          { labels: { connection: 'oldest-anonymous' }, value: this.#closed.anonymous },
          { labels: { connection: 'new' }, value: this.#closed.refused },
        ],
      },
    ]
  }

  close(): void {
    this.#sweep?.cancel()
  }

  #closeOldestAnonymous(): boolean {
    const [oldest] = this.#anonymous
    if (!oldest) return false
    this.#closed.anonymous++
    this.#log.warn(
      { client: clientOf(oldest), limit: this.#limits.anonymousConnections },
      'connection without credentials closed: too many are open',
    )
    this.#remove(oldest)
    oldest.destroy()
    return true
  }

  #remove(socket: Socket): void {
    this.#all.delete(socket)
    this.#anonymous.delete(socket)
  }

  #sweepLater(): void {
    const { idleMs } = this.#limits
    this.#sweep = this.#clock.setTimer(
      idleMs / sweepsPerIdleTime,
      () => {
        for (const tracked of this.#all.values()) tracked?.endIfIdle(idleMs)
        this.#sweepLater()
      },
      { background: true },
    )
  }
}
