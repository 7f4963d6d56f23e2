import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { Clock } from '../../../shared/clock/clock.ts'
import { ReachedLimits } from '../../../shared/limits/reached-limits.ts'
import type { Logger } from '../../../shared/log/log.ts'
import type { Family } from '../../../shared/metrics/exposition.ts'
import { certificateName } from '../../auth/client-certificate.ts'
import { clientOf } from './client-of.ts'
import { type LimitName, limitTable } from './limits.ts'

/** The connection of a client; still open, since a closed one has no address. */
export type Connection = Partial<Pick<Socket, 'remoteAddress' | 'remotePort'>>

/** Counts the limits that clients reach, and logs their addresses and, where they are known, their users. */
export class ClientLimits {
  readonly #reached: ReachedLimits<LimitName>
  /** Maps a connection to the user of its credentials, if it has others than its certificate. */
  readonly #users = new WeakMap<Connection, string>()

  constructor({ clock, log }: { clock: Clock; log: Logger }) {
    this.#reached = new ReachedLimits(limitTable, { clock, log })
  }

  identified(connection: Connection, user: string): void {
    this.#users.set(connection, user)
  }

  reached(
    limit: LimitName,
    connection: Connection,
    { user = this.#userOf(connection), ...details }: Details = {},
  ): void {
    const client = clientOf(connection)
    this.#reached.add(limit, {
      key: `${connection.remoteAddress} ${user}`,
      fields: { client, ...(user && { user }), ...details },
    })
  }

  families(): Family[] {
    return this.#reached.families()
  }

  close(): void {
    this.#reached.close()
  }

  #userOf(connection: Connection): string | undefined {
    return this.#users.get(connection) ?? certificateName(connection as TLSSocket)
  }
}

interface Details {
  /** Names the user; by default that of the connection. */
  user?: string
  /** Counts the bytes that were too many. */
  bytes?: number
}
