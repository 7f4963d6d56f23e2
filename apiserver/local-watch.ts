import { apiVersionOf } from '../shared/api/api-version.ts'
import { mayHoldLarge, parseStored } from '../shared/api/json/exact-json.ts'
import type { StatusError } from '../shared/api/status/status-error.ts'
import type { KubeObject, WatchEvent } from '../shared/api/types.ts'
import type { ApiContext } from './http/api-context.ts'
import { objectEncoder } from './http/encode/watch-encoder.ts'
import type { ResourceDefinition } from './kind/resource-definition.ts'
import type { Selection } from './watchcache/selection.ts'
import { Watch } from './watchcache/watch.ts'
import type { WatchEncoder, WatchSink } from './watchcache/watch-sink.ts'

export interface LocalWatchOptions {
  selection: Selection
  bookmarks: boolean
  after: number | 'now'
  timeoutSeconds?: number
  signal?: AbortSignal
  /** Does the same as in LocalClientOptions. */
  exact?: boolean
}

type Events = readonly WatchEvent[]

/** A local watch runs within the process. Its objects are shared with other watchers: callers must not change them. */
export class LocalWatch<T extends object> implements AsyncIterable<WatchEvent<T>> {
  readonly #api: ApiContext
  readonly #definition: ResourceDefinition
  readonly #options: LocalWatchOptions

  constructor(api: ApiContext, definition: ResourceDefinition, options: LocalWatchOptions) {
    this.#api = api
    this.#definition = definition
    this.#options = options
  }

  [Symbol.asyncIterator](): AsyncIterator<WatchEvent<T>> {
    return new Reading<T>(this.#api, this.#definition, this.#options)
  }
}

/**
 * Reads a local watch, which begins when the first event is asked for. A generator would take three turns of the
 * microtask queue for each event; one that is there already takes one.
 */
class Reading<T extends object> implements AsyncIterator<WatchEvent<T>> {
  readonly #api: ApiContext
  readonly #definition: ResourceDefinition
  readonly #options: LocalWatchOptions
  readonly #sink = new QueueSink()
  #stop: (() => void) | undefined
  #events: Events = []
  #at = 0
  #isOver = false

  constructor(api: ApiContext, definition: ResourceDefinition, options: LocalWatchOptions) {
    this.#api = api
    this.#definition = definition
    this.#options = options
  }

  /** Returns what ends the watch. */
  #begin(): () => void {
    const { registry, clock } = this.#api
    const { signal, timeoutSeconds, exact = false, ...start } = this.#options
    const sink = this.#sink
    const encoder = eventEncoder(this.#definition, exact)
    const watch = new Watch(registry.cacheOf(this.#definition), sink, { ...start, encoder })
    const end = (): void => sink.end()
    const timer = timeoutSeconds ? clock.machine.setTimer(timeoutSeconds * 1000, end, { background: true }) : undefined
    signal?.addEventListener('abort', end, { once: true })
    watch.run().catch((error: unknown) => sink.end(error as StatusError))
    return () => {
      watch.stop()
      timer?.cancel()
      signal?.removeEventListener('abort', end)
    }
  }

  next(): Promise<IteratorResult<WatchEvent<T>>> {
    if (this.#at === this.#events.length || this.#isOver || this.#options.signal?.aborted) return this.#more()
    return Promise.resolve({ value: this.#events[this.#at++] as unknown as WatchEvent<T>, done: false })
  }

  async return(): Promise<IteratorResult<WatchEvent<T>>> {
    this.#isOver = true
    this.#stop?.()
    this.#stop = undefined
    return { value: undefined, done: true }
  }

  async #more(): Promise<IteratorResult<WatchEvent<T>>> {
    if (this.#isOver || this.#options.signal?.aborted) return this.return()
    this.#stop ??= this.#begin()
    try {
      const events = await this.#sink.next()
      if (!events) return this.return()
      this.#events = events
      this.#at = 0
    } catch (error) {
      await this.return()
      throw error
    }
    return this.next()
  }
}

/**
 * Returns a function that makes the objects of events: the writer's own if it is known, else parsed once for all local
 * watchers of a group.
 */
function eventEncoder(definition: ResourceDefinition, exact: boolean): WatchEncoder<Events> {
  const lines = objectEncoder(definition)
  const { version } = definition
  return {
    id: `local ${exact ? 'exact ' : ''}${version}`,
    isLocal: true,
    encode: (records) =>
      records.flatMap((record) => {
        if (record.type !== 'BOOKMARK' && record.decoded && (exact || !mayHoldLarge(record.object.value))) {
          return { type: record.type, object: asWritten(definition, record.decoded, record.revision) }
        }
        const line = lines.encode([record]).toString('utf8')
        return line === '' ? [] : ((exact ? parseStored(line) : JSON.parse(line)) as WatchEvent)
      }),
  }
}

/**
 * Returns the object that a writer made as a read would return it. The result shares its parts with the writer's
 * object.
 */
export function asWritten(
  definition: ResourceDefinition,
  { metadata, ...rest }: KubeObject,
  revision: number | undefined,
): KubeObject {
  const { kind } = definition
  return {
    ...rest,
    kind,
    apiVersion: apiVersionOf(definition),
    metadata: { ...metadata, resourceVersion: String(revision) },
  }
}

class QueueSink implements WatchSink<Events> {
  #chunks: Events[] = []
  #ended = false
  #error: StatusError | undefined
  #wake: (() => void) | undefined

  write(chunk: Events): void {
    this.#chunks.push(chunk)
    this.#wake?.()
  }

  /** A reader within the process cannot be slow for long, and shares the objects anyway. */
  buffered(): number {
    return 0
  }

  async drained(): Promise<void> {}

  end(error?: StatusError): void {
    this.#ended = true
    this.#error = error
    this.#wake?.()
  }

  abort(): void {
    this.end()
  }

  /** Resolves to undefined at the end. Rejects with the error that ended the watch. */
  async next(): Promise<Events | undefined> {
    while (this.#chunks.length === 0 && !this.#ended) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    const chunk = this.#chunks.shift()
    if (!chunk && this.#error) throw this.#error
    return chunk
  }
}
