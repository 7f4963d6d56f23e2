import { ignoreNotFound } from '../../shared/api/status/status-error.ts'
import type { Event, Pod } from '../../shared/api/types.ts'
import type { Client } from '../../shared/client/client.ts'
import { events } from '../../shared/client/resources.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { toTime } from '../../shared/clock/timestamp.ts'
import {
  createEventFilter,
  type EventFilter,
  type EventType,
  type ObjectReference,
} from '../../shared/events/event-filter.ts'
import { fieldPathOf } from '../pod/container-kinds.ts'

export type { EventType, ObjectReference } from '../../shared/events/event-filter.ts'

/** Tells people what happened. Never waits, never fails; order is kept. */
export interface EventRecorder {
  event(
    object: ObjectReference,
    type: EventType,
    reason: string,
    message: string,
    annotations?: Record<string, string>,
  ): void
  /** Writes an event about a pod, or about one of its containers. */
  podEvent(
    pod: Pod,
    container: string | undefined,
    type: EventType,
    reason: string,
    message: string,
    annotations?: Record<string, string>,
  ): void
  /** Resolves when all events so far are posted or given up. */
  flush(): Promise<void>
}

export interface EventRecorderOptions {
  client: Client
  clock: Clock
  component: string
  host: string
  onError(error: unknown): void
}

const MAX_QUEUE = 1_000
const TRIES = 12
const RETRY_MS = 10_000

/** The queue of events to post, one after the other. */
class Recorder implements EventRecorder {
  readonly #options: EventRecorderOptions
  readonly #filter: EventFilter = createEventFilter()
  #waiting = 0
  #tail: Promise<void> = Promise.resolve()
  #lastNanos = 0n

  constructor(options: EventRecorderOptions) {
    this.#options = options
  }

  event(...[object, type, reason, text, annotations]: Parameters<EventRecorder['event']>): void {
    const { client, clock } = this.#options
    const decision = this.#filter.admit({ object, type, reason, message: text }, clock.now())
    if (!decision) return
    const { known, message } = decision
    const time = toTime(clock.now())
    const namespace = object.namespace ?? 'default'
    // Here, not when it is posted: that may take several tries.
    const count = ++known.count
    const create = async () => {
      const body = this.#newEvent({ object, type, reason, message, namespace, time, count, annotations })
      known.name = body.metadata.name ?? ''
      await client.create<Event>(events, body, { namespace, unread: true })
    }
    this.#post(async () => {
      if (!known.name) return create()
      const news = { count, lastTimestamp: time, message }
      const ref = { namespace, name: known.name }
      const found = await client.patch(events, ref, news, { type: 'merge' }).catch(ignoreNotFound)
      // Events do not last.
      if (!found) await create()
    })
  }

  podEvent(...[pod, container, ...words]: Parameters<EventRecorder['podEvent']>): void {
    this.event(podReference(pod, container), ...words)
  }

  flush(): Promise<void> {
    return this.#tail
  }

  #post(send: () => Promise<void>): void {
    if (this.#waiting >= MAX_QUEUE) return
    this.#waiting++
    this.#tail = this.#tail.then(() => this.#try(send))
  }

  async #try(send: () => Promise<void>): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        await send()
        break
      } catch (error) {
        // The server would refuse the event again, e.g. because its namespace is gone.
        if (error instanceof Error && 'status' in error) break
        if (tries === TRIES) {
          this.#options.onError(error)
          break
        }
        await this.#options.clock.machine.sleep(RETRY_MS)
      }
    }
    this.#waiting--
  }

  #newEvent({ object, type, reason, message, namespace, time, count, annotations }: NewEvent): Event {
    const { clock, component, host } = this.#options
    const nanos = BigInt(Math.floor(clock.now())) * 1_000_000n
    this.#lastNanos = nanos > this.#lastNanos ? nanos : this.#lastNanos + 1n
    return {
      metadata: {
        name: `${object.name}.${this.#lastNanos.toString(16)}`,
        namespace,
        ...(annotations && { annotations }),
      },
      involvedObject: object,
      reason,
      message,
      source: { component, host },
      firstTimestamp: time,
      lastTimestamp: time,
      count,
      type,
      eventTime: null,
      reportingComponent: component,
      reportingInstance: host,
    }
  }
}

export const createEventRecorder = (options: EventRecorderOptions): EventRecorder => new Recorder(options)

interface NewEvent {
  object: ObjectReference
  type: EventType
  reason: string
  message: string
  namespace: string
  time: string
  count: number
  annotations?: Record<string, string>
}

/** A kubelet's events carry the node's name where its UID would stand: it posts them before it knows the UID. */
export const nodeReference = (name: string): ObjectReference => ({ kind: 'Node', apiVersion: 'v1', name, uid: name })

function podReference({ metadata, spec }: Pod, container?: string): ObjectReference {
  return {
    kind: 'Pod',
    namespace: metadata.namespace,
    name: metadata.name ?? '',
    uid: metadata.uid ?? '',
    apiVersion: 'v1',
    resourceVersion: metadata.resourceVersion,
    ...(container && { fieldPath: fieldPathOf(spec, container) }),
  }
}
