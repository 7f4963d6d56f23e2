import type { Clock } from '../../../shared/clock/clock.ts'
import type { GrpcError } from '../../../shared/grpc/status.ts'
import type { EtcdClient } from './client.ts'
import type { Draft, Message } from './messages.ts'

export interface FeedOptions {
  client: Pick<EtcdClient, 'openWatch'>
  clock: Clock
  /** Bounds the keys: the first one, and the one behind the last. */
  range: { key: string; range_end: string }
  /** The last revision that is known. */
  after: number
  /** All events up to `revision` that have not been told, in order; none where only time has passed. */
  onEvents(events: Message<'Event'>[], revision: number): void
  /** The history after the last revision is gone: resolves to the revision to go on after. */
  onCompacted(): Promise<number>
  /** `error`: undefined when it is connected again. */
  onConnection(error: GrpcError | undefined): void
}

type Stream = Awaited<ReturnType<EtcdClient['openWatch']>>

const pausesMs = [0, 50, 200, 500, 1000]

/**
 * Every write to a range of keys, in order and each once, across lost connections: a stream that ends is opened again
 * after the last revision that was told.
 */
export class Feed {
  readonly #options: FeedOptions
  #revision: number
  #stream: Stream | undefined
  /** Responses of which not all fragments have come. */
  #fragments: Message<'Event'>[] = []
  #failures = 0
  #isClosed = false

  constructor(options: FeedOptions) {
    this.#options = options
    this.#revision = options.after
    void this.#open()
  }

  /** Asks etcd how far it is: answered by `onEvents`, without events, when all up to there have been told. */
  requestProgress(): void {
    this.#stream?.send({ progress_request: {} })
  }

  close(): void {
    this.#isClosed = true
    this.#stream?.close()
  }

  async #open(): Promise<void> {
    const { client, clock, range } = this.#options
    const pause = pausesMs[Math.min(this.#failures, pausesMs.length - 1)]!
    if (pause > 0) await clock.sleep(pause)
    if (this.#isClosed) return
    this.#fragments = []
    let isOver = false
    const end = (error: GrpcError | undefined): void => {
      if (isOver || this.#isClosed) return
      isOver = true
      this.#stream = undefined
      this.#failures++
      if (error) this.#options.onConnection(error)
      void this.#open()
    }
    try {
      const stream = await client.openWatch({
        onResponse: (response) => {
          if (!isOver) this.#receive(response, () => end(undefined))
        },
        onEnd: end,
      })
      if (this.#isClosed || isOver) return stream.close()
      this.#stream = stream
      const request: Draft<'WatchCreateRequest'> = {
        ...range,
        start_revision: this.#revision + 1,
        progress_notify: true,
        fragment: true,
      }
      stream.send({ create_request: request })
    } catch (error) {
      end(error as GrpcError)
    }
  }

  #receive(response: Message<'WatchResponse'>, end: () => void): void {
    const { header, created, canceled, compact_revision, fragment, events } = response
    if (canceled) {
      this.#stream?.close()
      if (compact_revision > 0) void this.#resync(end)
      else end()
      return
    }
    if (created) {
      this.#failures = 0
      this.#options.onConnection(undefined)
      return
    }
    for (const event of events) if ((event.kv?.mod_revision ?? 0) > this.#revision) this.#fragments.push(event)
    if (fragment) return
    const told = this.#fragments
    this.#fragments = []
    // Events of a response are complete up to the last one's; only without any does the header say how far all is told.
    const revision = events.length > 0 ? (events.at(-1)?.kv?.mod_revision ?? 0) : (header?.revision ?? 0)
    if (revision <= this.#revision) return
    this.#revision = revision
    this.#options.onEvents(told, revision)
  }

  async #resync(end: () => void): Promise<void> {
    try {
      this.#revision = await this.#options.onCompacted()
    } catch {
      // The next stream finds out the same.
    }
    end()
  }
}
