import type { ApiServerConfig } from './config.ts'
import { Answers } from './http/limits/answers.ts'
import { ClientLimits } from './http/limits/client-limits.ts'
import { Connections } from './http/limits/connections.ts'
import { Handshakes } from './http/limits/handshakes.ts'
import { type Limits, limitsOf } from './http/limits/limits.ts'
import { Watchdog } from './http/limits/watchdog.ts'
import { WatchBacklog } from './watchcache/watch-backlog.ts'

/** The guards keep a single client from making the server unusable for the others. */
export class Guards {
  readonly limits: Limits
  readonly reports: ClientLimits
  readonly watchBacklog: WatchBacklog
  readonly connections: Connections
  readonly handshakes: Handshakes
  readonly answers: Answers
  readonly watchdog: Watchdog

  constructor({ clock: { machine: clock }, log, limits }: Pick<ApiServerConfig, 'clock' | 'log' | 'limits'>) {
    this.limits = limitsOf(limits ?? {})
    this.reports = new ClientLimits({ clock, log })
    this.watchBacklog = new WatchBacklog({
      perWatch: this.limits.maxUnreadBytesPerWatch,
      all: this.limits.maxUnreadBytes,
      onReached: (limit, { connection = {} }, bytes) =>
        this.reports.reached(limit === 'all' ? 'maxUnreadBytes' : 'maxUnreadBytesPerWatch', connection, { bytes }),
    })
    const parts = { clock, reports: this.reports }
    this.connections = new Connections(this.limits, parts)
    this.handshakes = new Handshakes(this.limits, parts)
    this.answers = new Answers(this.limits, parts)
    this.watchdog = new Watchdog({ clock, log })
  }

  close(): void {
    this.answers.close()
    this.handshakes.close()
    this.reports.close()
    this.watchdog.close()
  }
}
