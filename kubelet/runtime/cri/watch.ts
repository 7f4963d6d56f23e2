import type { Clock, Timer } from '../../../shared/clock/clock.ts'
import type { GrpcStream } from '../../../shared/grpc/channel.ts'
import { grpcCodes } from '../../../shared/grpc/status.ts'
import type { CriClient, CriError } from './api/client.ts'
import type { PodRecords } from './pods/pod-records.ts'

export interface WatchOptions {
  client: CriClient
  records: PodRecords
  clock: Clock
  warn(message: string, fields: object): void
}

/** Upstream: genericPlegRelistPeriod, eventedPlegRelistPeriod. */
const pollMs = 1_000
const relistMs = 300_000
/** Looks sooner after a request. */
const soonMs = 100
const soonForMs = 3_000
const retryMs = 1_000
/** If more pods are pending, all are listed. */
const mostPending = 500

/** Looks for changes: as the runtime tells them, or once a second where it tells none. */
export class Watch {
  readonly #options: WatchOptions
  readonly #clock: Clock
  #stream: GrpcStream | undefined
  #timer: Timer | undefined
  #tellsEvents = true
  #soonUntilMs = 0
  readonly #pending = new Set<string>()
  #isLooking = false
  #problem: string | undefined
  #isClosed = false

  constructor(options: WatchOptions) {
    this.#options = options
    this.#clock = options.clock.machine
  }

  /** Says why changes are not seen now. */
  get problem(): string | undefined {
    return this.#problem
  }

  async begin(): Promise<void> {
    await this.#listen()
    this.#again(this.#waitMs)
  }

  /** Looks sooner for a while: a change was asked for. */
  expect(): void {
    if (this.#tellsEvents) return
    this.#soonUntilMs = this.#clock.monotonic() + soonForMs
    this.#again(soonMs)
  }

  close(): void {
    this.#isClosed = true
    this.#timer?.cancel()
    this.#stream?.close()
  }

  async #listen(): Promise<void> {
    const { client } = this.#options
    try {
      const stream = await client.events(
        (id) => this.#changed(id),
        (error) => this.#ended(error),
      )
      if (this.#isClosed) stream.close()
      else this.#stream = stream
    } catch (error) {
      this.#fail(error as CriError)
    }
  }

  #ended(error: CriError | undefined): void {
    this.#stream = undefined
    if (this.#isClosed) return
    // A runtime that has no events says so in one way or another; one that has gone is found by the next look.
    if (error && error.code !== grpcCodes.unavailable) this.#tellsEvents = false
    this.#again(this.#tellsEvents ? retryMs : soonMs)
  }

  #changed(id: string): void {
    if (this.#pending.size < mostPending) this.#pending.add(id)
    else this.#again(0)
    void this.#lookAtPending()
  }

  async #lookAtPending(): Promise<void> {
    if (this.#isLooking) return
    this.#isLooking = true
    try {
      for (const id of this.#pending) {
        this.#pending.delete(id)
        await this.#options.records.refresh(id)
      }
    } catch (error) {
      this.#fail(error as CriError)
    } finally {
      this.#isLooking = false
    }
  }

  get #waitMs(): number {
    if (this.#problem !== undefined) return retryMs
    if (this.#tellsEvents) return relistMs
    return this.#clock.monotonic() < this.#soonUntilMs ? soonMs : pollMs
  }

  #again(delayMs: number): void {
    this.#timer?.cancel()
    if (!this.#isClosed) this.#timer = this.#clock.setTimer(delayMs, () => void this.#relist(), { background: true })
  }

  async #relist(): Promise<void> {
    const { records, warn } = this.#options
    try {
      await records.list()
      if (this.#problem !== undefined) warn('the container runtime answers again', {})
      this.#problem = undefined
      if (this.#tellsEvents && !this.#stream && !this.#isClosed) await this.#listen()
    } catch (error) {
      this.#fail(error as CriError)
    } finally {
      this.#again(this.#waitMs)
    }
  }

  #fail(error: CriError): void {
    if (this.#isClosed) return
    if (this.#problem === undefined) this.#options.warn('the container runtime does not answer', { err: error })
    this.#problem = `container runtime is down: ${error.message}`
    this.#again(retryMs)
  }
}
