import type { Termination } from '../shared/api/termination.ts'
import type { KubeObject } from '../shared/api/types.ts'
import type { Client, Resource } from '../shared/client/client.ts'
import { terminations } from '../shared/client/resources.ts'
import type { Clock } from '../shared/clock/clock.ts'
import { type Duration, toMs } from './duration.ts'

/** Selects the objects of a wait. */
export interface Target {
  /** Selects objects of one namespace. Without it those of all namespaces count. */
  namespace?: string
  name?: string
  /** Selects objects by their labels: `app=web`. */
  labelSelector?: string
}
/** Limits a wait. */
export interface WaitOptions {
  /** Limits the wait, by the machine's clock; `10s` by default. */
  timeout?: Duration
}

const patience = '10s'

/** Waits by watches, and so neither polls nor misses a change. */
export interface Waiters {
  /**
   * Resolves to the first matching object for which the condition holds. Rejects after the timeout, with the last state
   * seen.
   */
  waitFor<T extends object = KubeObject>(
    resource: Resource,
    target: Target,
    condition: (object: T) => boolean,
    options?: WaitOptions,
  ): Promise<T>
  /** Resolves when the object is gone, or if it does not exist. Rejects after the timeout. */
  waitForDeleted(resource: Resource, target: Target & { name: string }, options?: WaitOptions): Promise<void>
}

/**
 * Creates the waiters. `clock` is the machine's clock. An open wait is rejected with the reason of `closing` when
 * `closing` aborts.
 */
export function createWaiters(client: Client, clock: Clock, closing: AbortSignal): Waiters {
  const follow = async <Found>(
    resource: Resource,
    target: Target,
    look: (type: string, object: KubeObject) => Found | undefined,
    { timeout = patience }: WaitOptions,
  ): Promise<Found> => {
    closing.throwIfAborted()
    const { namespace, name, labelSelector } = target
    const waiting = new AbortController()
    const timer = clock.setTimer(toMs(timeout), () => waiting.abort())
    const fieldSelector = name === undefined ? undefined : `metadata.name=${name}`
    let last: KubeObject | undefined
    try {
      const changes = client.watch<KubeObject>(resource, {
        namespace,
        labelSelector,
        fieldSelector,
        sendInitialEvents: true,
        allowWatchBookmarks: true,
        signal: AbortSignal.any([waiting.signal, closing]),
      })
      for await (const { type, object } of changes) {
        if (type !== 'BOOKMARK') last = object
        const found = look(type, object)
        if (found !== undefined) return found
      }
    } finally {
      timer.cancel()
      waiting.abort()
    }
    closing.throwIfAborted()
    const wanted = `${resource.plural}${name === undefined ? '' : ` ${name}`}${labelSelector ? ` (${labelSelector})` : ''}`
    throw new Error(
      `timed out after ${timeout} waiting for ${wanted}; ${last ? `last seen: ${show(last)}` : 'no such object was seen'}`,
    )
  }
  return {
    waitFor: <T extends object>(
      resource: Resource,
      target: Target,
      condition: (object: T) => boolean,
      options: WaitOptions = {},
    ) =>
      follow<T>(
        resource,
        target,
        (type, object) =>
          type !== 'BOOKMARK' && type !== 'DELETED' && condition(object as T) ? (object as T) : undefined,
        options,
      ),
    async waitForDeleted(resource, target, options = {}) {
      let exists = false
      // The bookmark says that all there is has been shown.
      const look = (type: string): true | undefined => {
        if (type === 'DELETED' || (type === 'BOOKMARK' && !exists)) return true
        if (type !== 'BOOKMARK') exists = true
        return undefined
      }
      await follow(resource, target, look, options)
    },
  }
}

/** Leaves managedFields out: they are half of most objects, and no wait is about them. */
const show = (object: KubeObject): string =>
  JSON.stringify(object, (key, value) => (key === 'managedFields' ? undefined : value))

/** Gives access to the Terminations: the records of how pods were stopped. */
export class Terminations {
  readonly #client: Client
  readonly #waiters: Waiters

  constructor(client: Client, waiters: Waiters) {
    this.#client = client
    this.#waiters = waiters
  }

  /** Resolves to the records of one namespace or, by default, of all. */
  async list(namespace?: string): Promise<Termination[]> {
    return (await this.#client.list<Termination>(terminations, { namespace })).items
  }

  /** Resolves to the pod's record as soon as it is written. Rejects after the timeout. */
  of(
    podName: string,
    { namespace = 'default', ...options }: WaitOptions & { namespace?: string } = {},
  ): Promise<Termination> {
    return this.#waiters.waitFor<Termination>(
      terminations,
      { namespace },
      (termination) => termination.podName === podName,
      options,
    )
  }
}
