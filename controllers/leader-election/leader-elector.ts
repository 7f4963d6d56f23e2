import type { Lease } from '../../shared/api/types.ts'
import type { Client } from '../../shared/client/client.ts'
import { startInformer } from '../../shared/client/informer.ts'
import { leases } from '../../shared/client/resources.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { toMicroTime } from '../../shared/clock/timestamp.ts'
import { withinLimit } from '../../shared/clock/within-limit.ts'
import { type TellFailure, tellFailures } from '../../shared/concurrency/loop-failures.ts'
import { type ElectionSettings, jitterFactor } from '../../shared/config/election-settings.ts'
import type { Log } from '../../shared/log/log.ts'
import { type Election, isSame, LeaseLock } from './lease-lock.ts'
import { Term } from './term.ts'

export interface LeaderElectorOptions {
  client: Client
  /** Timestamps are the cluster's; durations are the machine's, whatever the cluster's clock does. */
  clock: Clock
  log: Log
  /** Identifies one candidacy of this candidate. After a term comes a new one. */
  identity: string
  settings: ElectionSettings
  random?: () => number
  /** Receives each new leader; empty if the Lease was given up. */
  onLeader?(identity: string): void
}

/** A Lease that changes all the time is not read more often. */
const leastPauseMs = 50

/**
 * Competes for a Lease as one candidate, with the algorithm of client-go/tools/leaderelection: whether a Lease is free
 * follows from the local time at which its last change was seen, never from its timestamps. Beyond upstream, a
 * candidate watches the Lease, so that it takes over when the duration ends or the holder releases the Lease; and a
 * leader that sees another holder stops at once.
 */
export class LeaderElector {
  readonly #options: LeaderElectorOptions
  readonly #failed: TellFailure<string>
  readonly #machine: Clock
  readonly #random: () => number
  readonly #lock: LeaseLock
  #observed: Election | undefined
  #observedMs = 0
  /** Settles with the current attempt, or has settled with the last one. */
  #attempt: Promise<boolean> = Promise.resolve(false)

  constructor(options: LeaderElectorOptions) {
    this.#options = options
    this.#failed = tellFailures({ ...options, loop: 'leader election', object: 'Lease' })
    this.#machine = options.clock.machine
    this.#random = options.random ?? Math.random
    this.#lock = new LeaseLock(options.client, options.settings)
  }

  /** Names the leader that was seen last; empty if none was seen. */
  get leader(): string {
    return this.#observed?.holderIdentity ?? ''
  }

  /** The Lease as it was read or written last. */
  get lease(): Lease | undefined {
    return this.#lock.lease
  }

  /** Resolves to the term, which is renewed until it ends; undefined when the signal aborts first. */
  async acquire(signal: AbortSignal): Promise<Term | undefined> {
    const { identity } = this.#options
    let change = Promise.withResolvers<void>()
    const watch = this.#watch(() => change.resolve())
    try {
      while (!signal.aborted) {
        change = Promise.withResolvers<void>()
        const startedMs = this.#machine.monotonic()
        if (await untilAborted(this.#tryAcquireOrRenew(), signal)) {
          const { namespace, name } = this.#lock
          const term = new Term({ namespace, name, identity }, this.#machine)
          term.extend(this.#endOf(startedMs))
          void this.#renew(term)
          return term
        }
        await this.#pause(leastPauseMs, signal)
        await Promise.race([change.promise, this.#pause(this.#untilNextTry(), signal)])
      }
      return undefined
    } finally {
      // Not waited for: its list may hang.
      void watch.close()
    }
  }

  /** Ends the term and gives the Lease up: another may lead at once. To be called when all loops have stopped. */
  async release(term: Term): Promise<void> {
    term.end('the Lease was given up')
    await withinLimit(this.#attempt, this.#options.settings.renewDeadlineMs, this.#machine)
    const found = await this.#lock.read()
    if (found?.holderIdentity !== this.#options.identity) return
    const now = toMicroTime(this.#options.clock.now())
    await this.#lock.update({
      holderIdentity: '',
      leaseDurationSeconds: 1,
      acquireTime: now,
      renewTime: now,
      leaseTransitions: found.leaseTransitions,
    })
  }

  async #renew(term: Term): Promise<void> {
    const { retryPeriodMs } = this.#options.settings
    for (;;) {
      await this.#pause(retryPeriodMs, term.signal)
      if (!term.isHeld()) return
      const startedMs = this.#machine.monotonic()
      const isRenewed = await untilAborted(this.#tryAcquireOrRenew(), term.signal)
      if (isRenewed) term.extend(this.#endOf(startedMs))
      else if (this.#observed && !this.#isMine()) return term.end(`the Lease is held by "${this.leader}"`)
    }
  }

  /**
   * When the term of a Lease that was renewed at `startedMs` ends: after the tries of the renew deadline, and in any
   * case before another may take it.
   */
  #endOf(startedMs: number): number {
    const { retryPeriodMs, renewDeadlineMs, leaseDurationMs } = this.#options.settings
    return startedMs + Math.min(retryPeriodMs + renewDeadlineMs, leaseDurationMs)
  }

  #tryAcquireOrRenew(): Promise<boolean> {
    this.#attempt = this.#tryOnce().catch((error: unknown) => {
      this.#failed(error, this.#options.settings.name)
      return false
    })
    return this.#attempt
  }

  async #tryOnce(): Promise<boolean> {
    const now = toMicroTime(this.#options.clock.now())
    const wanted: Election = {
      holderIdentity: this.#options.identity,
      leaseDurationSeconds: this.#options.settings.leaseDurationMs / 1000,
      acquireTime: now,
      renewTime: now,
      leaseTransitions: 0,
    }
    if (this.#observed && this.#isMine() && this.#isValid()) {
      const { acquireTime, leaseTransitions } = this.#observed
      const isWritten = await this.#lock.update({ ...wanted, acquireTime, leaseTransitions }).then(
        () => true,
        () => false,
      )
      if (isWritten) return this.#observe({ ...wanted, acquireTime, leaseTransitions })
    }
    const found = await this.#lock.read()
    if (!found) {
      await this.#lock.create(wanted)
      return this.#observe(wanted)
    }
    if (!isSame(this.#observed, found)) this.#observe(found)
    if (found.holderIdentity && !this.#isMine() && this.#isValid()) return false
    const { acquireTime, leaseTransitions } = found
    const next = this.#isMine()
      ? { ...wanted, acquireTime, leaseTransitions }
      : { ...wanted, leaseTransitions: leaseTransitions + 1 }
    await this.#lock.update(next)
    return this.#observe(next)
  }

  #observe(election: Election): true {
    const before = this.#observed?.holderIdentity
    this.#observed = election
    this.#observedMs = this.#machine.monotonic()
    if (election.holderIdentity !== before) this.#options.onLeader?.(election.holderIdentity)
    return true
  }

  #isMine(): boolean {
    return this.leader === this.#options.identity
  }

  #isValid(): boolean {
    return this.#validMs() > 0
  }

  /** Returns how long the Lease still belongs to its holder. */
  #validMs(): number {
    return this.#observedMs + (this.#observed?.leaseDurationSeconds ?? 0) * 1000 - this.#machine.monotonic()
  }

  #untilNextTry(): number {
    const jitteredMs = this.#options.settings.retryPeriodMs * (1 + this.#random() * jitterFactor)
    const validMs = this.#validMs()
    return this.leader && validMs > 0 ? Math.min(jitteredMs, validMs) : jitteredMs
  }

  #pause(durationMs: number, signal: AbortSignal): Promise<void> {
    return this.#machine.sleep(durationMs, { signal }).catch(() => {})
  }

  #watch(onChange: () => void) {
    const { client, clock, settings } = this.#options
    const { namespace, name } = settings
    return startInformer<Lease>({
      client,
      clock,
      resource: leases,
      selection: { namespace, fieldSelector: `metadata.name=${name}` },
      handlers: [{ onUpdate: onChange, onDelete: onChange }],
    })
  }
}

/** Resolves to undefined when the signal aborts first; the work goes on. */
async function untilAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value | undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>()
  const abort = (): void => resolve(undefined)
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([work, promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
