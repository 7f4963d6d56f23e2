import { setImmediate } from 'node:timers/promises'
import { isStatus } from '../api/status/status-error.ts'
import type { ObjectMeta } from '../api/types.ts'
import type { Clock } from '../clock/clock.ts'
import { createBackoff } from '../concurrency/backoff.ts'
import type { Client, Resource } from './client.ts'

/** Receives the objects that a reflector reads. */
export interface ReflectorStore<T> {
  /** Takes in a list, page by page: what is in no page is gone. Rejects, and keeps what is gone, if a page fails. */
  replace(pages: AsyncIterable<T[]>): Promise<void>
  /** ADDED or MODIFIED. */
  upsert(object: T): void
  /** DELETED, with the object's last state. */
  remove(object: T): void
}

export interface Selection {
  namespace?: string
  labelSelector?: string
  fieldSelector?: string
}

export interface ReflectorOptions<T> {
  client: Pick<Client, 'list' | 'watch'>
  resource: Resource
  selection?: Selection
  store: ReflectorStore<T>
  clock: Clock
  random?: () => number
  /** Receives every failure before the next attempt. The reflector goes on until it is stopped. */
  onError?(error: unknown): void
}

export interface Reflector {
  /** Resolves when nothing more will reach the store. */
  stop(): Promise<void>
}

/** client-go's: the server ends a watch after this, at the latest, so that a dead connection is noticed. */
const MIN_WATCH_SECONDS = 300
/** A watch that ends sooner without an event is a failure: without a pause we would ask in a circle. */
const SHORT_WATCH_MS = 1_000
/** Lists are read in pages of client-go's size, so that one of many objects is never whole in memory. */
const PAGE_SIZE = 500
const RETRY = { initialMs: 50, maxMs: 10_000, jitter: 1 }

/**
 * Keeps a store equal to a collection of the API: one list, then watches that each resume where the last one ended.
 * Lists again when the server no longer has the resourceVersion (410); retries with a growing, jittered delay when it
 * cannot be reached.
 */
export function startReflector<T extends { metadata: ObjectMeta }>(options: ReflectorOptions<T>): Reflector {
  const { client, resource, selection = {}, store, clock, random = Math.random, onError = () => {} } = options
  const stopping = new AbortController()
  const backoff = createBackoff({ ...RETRY, random })
  let resourceVersion: string | undefined
  let limit: number | undefined = PAGE_SIZE

  async function list(): Promise<string> {
    let listed = '0'
    const read = async (next?: string): Promise<Page<T>> => {
      const { items, metadata } = await client.list<T>(resource, { ...selection, limit, continue: next })
      stopping.signal.throwIfAborted()
      listed = metadata.resourceVersion ?? listed
      return { items, next: metadata.continue }
    }
    await store.replace(pagesOf(read))
    limit = PAGE_SIZE
    return listed
  }

  async function watch(from: string): Promise<void> {
    const startedMs = clock.machine.monotonic()
    let heard = false
    const events = client.watch<T>(resource, {
      ...selection,
      resourceVersion: from,
      allowWatchBookmarks: true,
      timeoutSeconds: Math.round(MIN_WATCH_SECONDS * (1 + random())),
      signal: stopping.signal,
    })
    for await (const { type, object } of events) {
      if (stopping.signal.aborted) return
      if (type === 'ADDED' || type === 'MODIFIED') store.upsert(object)
      else if (type === 'DELETED') store.remove(object)
      resourceVersion = object.metadata.resourceVersion ?? resourceVersion
      heard = true
      backoff.reset()
    }
    if (!heard && clock.machine.monotonic() - startedMs < SHORT_WATCH_MS) {
      throw new Error(`the watch of ${resource.plural} ended at once`)
    }
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        resourceVersion ??= await list()
        await watch(resourceVersion)
      } catch (error) {
        if (stopping.signal.aborted) return
        if (isStatus(error, 'Expired') || isStatus(error, 'Gone')) {
          // The pages of a list took too long: it is read at once.
          if (resourceVersion === undefined) limit = undefined
          resourceVersion = undefined
        }
        onError(error)
        await clock.machine.sleep(backoff.next(), { signal: stopping.signal }).catch(() => {})
      }
    }
  }

  const running = run()
  return {
    async stop() {
      stopping.abort()
      await running
    },
  }
}

interface Page<T> {
  items: T[]
  next: string | undefined
}

/** Yields the pages of a list. Between two of them others get their turn. */
async function* pagesOf<T>(read: (next?: string) => Promise<Page<T>>): AsyncGenerator<T[]> {
  for (let page = await read(); ; page = await read(page.next)) {
    yield page.items
    if (!page.next) return
    await setImmediate()
  }
}
