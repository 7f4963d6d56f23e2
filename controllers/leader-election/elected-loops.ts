import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { Client } from '../../shared/client/client.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { withinLimit } from '../../shared/clock/within-limit.ts'
import type { Log } from '../../shared/log/log.ts'
import type { Controller } from '../controller.ts'
import { createEventRecorder, type EventRecorder } from '../event-recorder.ts'
import { LeaderElector } from './leader-elector.ts'
import type { ElectionSettings } from './settings.ts'
import type { Term } from './term.ts'
import { termClient } from './term-client.ts'

export interface ElectedLoopsOptions {
  /** For the Lease and its events. */
  client: Client
  clock: Clock
  log: Log
  /** Names the events' source: upstream's program, such as kube-controller-manager. */
  component: string
  settings: ElectionSettings
  /** What the loops of a term write with; closed by its maker. */
  loopsClient(term: Term): Client
  /**
   * Starts the loops of a term with a client that is good until the term ends. Resolves, or rejects, soon after its end
   * at the latest.
   */
  start(client: Client, term: Term): Promise<Controller>
}

/**
 * Loops that run while this process leads. When a term is over they stop, and the process stands again, with a new
 * identity: as an upstream program, which exits and is started again.
 */
export class ElectedLoops implements Controller {
  readonly #options: ElectedLoopsOptions
  readonly #events: EventRecorder
  readonly #stopping = new AbortController()
  readonly #running: Promise<void>

  constructor(options: ElectedLoopsOptions) {
    this.#options = options
    this.#events = createEventRecorder(options)
    this.#running = this.#run()
  }

  /** The loops stop first; then the Lease is given up. */
  async close(): Promise<void> {
    this.#stopping.abort()
    await this.#running
    await this.#events.close()
  }

  async #run(): Promise<void> {
    const { log, settings } = this.#options
    const { signal } = this.#stopping
    while (!signal.aborted) {
      const elector = new LeaderElector({ ...this.#options, identity: `${hostname()}_${randomUUID()}` })
      const term = await elector.acquire(signal)
      if (!term) return
      log.info({ lease: settings.name, identity: term.identity }, 'became leader')
      this.#tell(elector, `${term.identity} became leader`)
      await this.#lead(term)
      if (term.isHeld()) await this.#giveUp(elector, term)
      else log.warn({ lease: settings.name, err: term.signal.reason }, 'lost the lead; its loops have stopped')
    }
  }

  /** Until the term is over, the process ends, or the loops cannot be started. */
  async #lead(term: Term): Promise<void> {
    const { clock, log, settings, loopsClient, start } = this.#options
    const over = AbortSignal.any([term.signal, this.#stopping.signal])
    const starting = start(termClient(loopsClient(term), term), term)
    const failed = starting.then(
      () => new Promise<void>(() => {}),
      (err: unknown) => {
        if (!over.aborted) log.error({ err, lease: settings.name }, 'cannot start the loops')
        return clock.machine.sleep(settings.retryPeriodMs, { signal: over }).catch(() => {})
      },
    )
    const { promise: ended, resolve } = Promise.withResolvers<void>()
    over.addEventListener('abort', () => resolve(), { once: true })
    if (over.aborted) resolve()
    await Promise.race([ended, failed])
    const loops = await starting.catch(() => undefined)
    await loops?.close()
  }

  async #giveUp(elector: LeaderElector, term: Term): Promise<void> {
    const { clock, log, settings } = this.#options
    const released = elector.release(term).catch((err: unknown) => log.debug({ err }, 'the Lease was not given up'))
    await withinLimit(released, settings.renewDeadlineMs, clock.machine)
    this.#tell(elector, `${term.identity} stopped leading`)
  }

  #tell({ lease }: LeaderElector, message: string): void {
    if (!lease) return
    this.#events.record({
      kind: 'Lease',
      apiVersion: 'coordination.k8s.io/v1',
      regarding: lease,
      type: 'Normal',
      reason: 'LeaderElection',
      message,
    })
  }
}
