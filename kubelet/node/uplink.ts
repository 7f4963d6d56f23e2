import type { Client, WatchQuery } from '../../shared/client/client.ts'
import { wrappedClient } from '../../shared/client/wrapped-client.ts'

/**
 * The node's connection to the API server, which can be cut as a cable can: what is asked then waits, watches end, and
 * all goes on when it is restored. Pods run on meanwhile.
 */
export interface Uplink {
  readonly client: Client
  readonly isCut: boolean
  cut(): void
  mend(): void
  /** Rejects requests that still wait for a connection that is cut. */
  close(): void
}

export interface UplinkOptions {
  /** True if the uplink is cut from the start. */
  isCut?: boolean
  onChange?(isCut: boolean): void
}

export function createUplink(direct: Client, { isCut = false, onChange = () => {} }: UplinkOptions = {}): Uplink {
  let watches = new AbortController()
  let mended = isCut ? toBeMended() : undefined

  const through = <T>(ask: () => Promise<T>): Promise<T> => (mended ? mended.promise.then(() => through(ask)) : ask())

  async function* watchLater(...[resource, query]: Parameters<Client['watch']>) {
    await Promise.race([mended?.promise, aborted(query.signal)])
    if (!query.signal?.aborted) yield* watchNow(resource, query)
  }
  const watchNow = (...[resource, query]: Parameters<Client['watch']>) => {
    const signal = query.signal ? AbortSignal.any([query.signal, watches.signal]) : watches.signal
    return direct.watch(resource, { ...query, signal } satisfies WatchQuery)
  }

  return {
    client: wrappedClient(direct, through, (...words) => (mended ? watchLater(...words) : watchNow(...words))),
    get isCut() {
      return mended !== undefined
    },
    cut() {
      if (mended) return
      mended = toBeMended()
      watches.abort()
      onChange(true)
    },
    mend() {
      if (!mended) return
      watches = new AbortController()
      mended.resolve()
      mended = undefined
      onChange(false)
    },
    close: () => mended?.reject(new Error('the node is cut off, and the kubelet ends')),
  }
}

/** No caller waits for it. */
function toBeMended(): PromiseWithResolvers<void> {
  const mended = Promise.withResolvers<void>()
  mended.promise.catch(() => {})
  return mended
}

const aborted = (signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve) => signal?.addEventListener('abort', () => resolve(), { once: true }))
