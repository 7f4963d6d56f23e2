import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { Client } from '../../shared/client/client.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { withinLimit } from '../../shared/clock/within-limit.ts'
import type { ElectionSettings } from '../../shared/config/election-settings.ts'
import type { Log } from '../../shared/log/log.ts'
import { type Controller, createEventRecorder, type EventRecorder, type LoopSet } from '../loop-set.ts'
import { LeaderElector } from './leader-elector.ts'
import type { Term } from './term.ts'
import { termClient } from './term-client.ts'

export interface ElectedLoopsOptions {
  /** Reads and writes the Lease and its events. */
  client: Client
  clock: Clock
  log: Log
  /** Names the events' source: upstream's program, such as kube-controller-manager. */
  component: string
  settings: ElectionSettings
  /** Returns the client that the loops of a term write with. The function that makes it closes it. */
  loopsClient(term: Term): Client
  /** Starts the loops of a term with a client that is good until the term ends. */
  start(client: Client, term: Term): LoopSet
}

/** Limits how long loops take to stop when their term is over; upstream's tolerance. */
const stoppingMs = 20_000

/**
 * Loops that run while this process leads. When a term is over they stop, and the process stands again, with a new
 * identity: as an upstream program, which exits and is started again.
 */
export class ElectedLoops implements Controller {
  readonly #options: ElectedLoopsOptions
  readonly #events: EventRecorder
  readonly #stopping = new AbortController()
  /** Resolves when the loops run here and have seen what there is, when another process leads, or at the end. */
  readonly settled: Promise<void>
  readonly #settle: () => void
  readonly #running: Promise<void>
  #term: Term | undefined

  constructor(options: ElectedLoopsOptions) {
    this.#options = options
    this.#events = createEventRecorder(options)
    const { promise, resolve } = Promise.withResolvers<void>()
    this.settled = promise
    this.#settle = resolve
    this.#running = this.#run()
  }

  /**
   * Returns why the process should be started again: its loops run on after their term. Upstream: the check
   * leaderElection, for a leader that could not renew its Lease and has not exited.
   */
  trouble(): string | undefined {
    const term = this.#term
    if (!term || term.isHeld() || term.overForMs() < stoppingMs) return undefined
    return `failed election to renew leadership on lease ${this.#options.settings.name}`
  }

  /** The loops stop first; then the Lease is given up. */
  async close(): Promise<void> {
    this.#stopping.abort()
    this.#settle()
    await this.#running
    await this.#events.close()
  }

  async #run(): Promise<void> {
    const { log, settings } = this.#options
    const { signal } = this.#stopping
    while (!signal.aborted) {
      const identity = `${hostname()}_${randomUUID()}`
      const elector = new LeaderElector({
        ...this.#options,
        identity,
        onLeader: (leader) => this.#note(leader, identity),
      })
      const term = await elector.acquire(signal)
      if (!term) return
      log.info({ lease: settings.name, identity }, 'became leader')
      this.#tell(elector, `${identity} became leader`)
      await this.#lead(term)
      if (term.isHeld()) await this.#giveUp(elector, term)
      else log.warn({ lease: settings.name, err: term.signal.reason }, 'lost the lead; its loops have stopped')
    }
  }

  /** Resolves when the term is over, or the process ends. */
  async #lead(term: Term): Promise<void> {
    const { loopsClient, start } = this.#options
    const loops = start(termClient(loopsClient(term), term), term)
    this.#term = term
    loops.synced().then(this.#settle, () => {})
    await aborted(AbortSignal.any([term.signal, this.#stopping.signal]))
    await loops.close()
    this.#term = undefined
  }

  async #giveUp(elector: LeaderElector, term: Term): Promise<void> {
    const { clock, log, settings } = this.#options
    const released = elector.release(term).catch((err: unknown) => log.debug({ err }, 'the Lease was not given up'))
    await withinLimit(released, settings.renewDeadlineMs, clock.machine)
    this.#tell(elector, `${term.leader.identity} stopped leading`)
  }

  #note(leader: string, own: string): void {
    if (leader === '' || leader === own) return
    this.#options.log.info({ lease: this.#options.settings.name, leader }, 'another process leads')
    this.#settle()
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

function aborted(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  if (signal.aborted) resolve()
  else signal.addEventListener('abort', () => resolve(), { once: true })
  return promise
}
