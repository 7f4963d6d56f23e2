import type { Socket } from 'node:net'
import type { Clock, Timer } from '../../../shared/clock/clock.ts'
import type { Family } from '../../../shared/metrics/exposition.ts'
import type { ClientLimits } from './client-limits.ts'
import type { Limits } from './limits.ts'
import { sweepsPerTimeout } from './sweeps.ts'

/**
 * Lists what a connection is asked to do. An HTTP/1.1 connection has no such methods, since Node does the same for it.
 */
export interface Tracked {
  /** Notes that the client has shown valid credentials. */
  identified(): void
  /** Ends itself when no request has come for so long, and says whether it does. */
  endIfIdle(idleMs: number): boolean
}

type ConnectionLimits = Pick<Limits, 'maxConnections' | 'maxAnonymousConnections' | 'idleTimeout'>

/**
 * Tracks the open connections of the server. When too many connections have an unknown client, a new connection
 * replaces the oldest of them: unauthenticated clients can only displace each other.
 */
export class Connections {
  readonly #limits: ConnectionLimits
  readonly #clock: Clock
  readonly #reports: ClientLimits
  readonly #all = new Map<Socket, Tracked | undefined>()
  /** Holds connections in the order in which they were opened. */
  readonly #anonymous = new Set<Socket>()
  #sweep: Timer | undefined

  constructor(limits: ConnectionLimits, { clock, reports }: { clock: Clock; reports: ClientLimits }) {
    this.#limits = limits
    this.#clock = clock
    this.#reports = reports
    this.#sweepLater()
  }

  /** Counts a connection after its TLS handshake. Returns false if it was closed, because there are too many. */
  add(socket: Socket, tracked: Tracked | undefined, isIdentified: boolean): boolean {
    if (this.#all.size >= this.#limits.maxConnections && !this.#closeOldestAnonymous('maxConnections')) {
      this.#reports.reached('maxConnections', socket)
      socket.destroy()
      return false
    }
    this.#all.set(socket, tracked)
    socket.once('close', () => this.#remove(socket))
    if (isIdentified) tracked?.identified()
    else {
      this.#anonymous.add(socket)
      if (this.#anonymous.size > this.#limits.maxAnonymousConnections) {
        this.#closeOldestAnonymous('maxAnonymousConnections')
      }
    }
    return true
  }

  /** A request on the connection had valid credentials. */
  identified(socket: Socket, user: string): void {
    if (!this.#anonymous.delete(socket)) return
    this.#reports.identified(socket, user)
    this.#all.get(socket)?.identified()
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
    ]
  }

  close(): void {
    this.#sweep?.cancel()
  }

  #closeOldestAnonymous(limit: 'maxConnections' | 'maxAnonymousConnections'): boolean {
    const [oldest] = this.#anonymous
    if (!oldest) return false
    this.#reports.reached(limit, oldest)
    this.#remove(oldest)
    oldest.destroy()
    return true
  }

  #remove(socket: Socket): void {
    this.#all.delete(socket)
    this.#anonymous.delete(socket)
  }

  #sweepLater(): void {
    const { idleTimeout } = this.#limits
    this.#sweep = this.#clock.setTimer(
      idleTimeout / sweepsPerTimeout,
      () => {
        for (const [socket, tracked] of this.#all) {
          if (tracked?.endIfIdle(idleTimeout)) this.#reports.reached('idleTimeout', socket)
        }
        this.#sweepLater()
      },
      { background: true },
    )
  }
}
