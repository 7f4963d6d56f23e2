import { ignoreNotFound } from '../shared/api/status/status-error.ts'
import type { Event, ObjectMeta } from '../shared/api/types.ts'
import type { Client } from '../shared/client/client.ts'
import { events } from '../shared/client/resources.ts'
import type { Clock } from '../shared/clock/clock.ts'
import { toMicroTime, toTime } from '../shared/clock/timestamp.ts'
import { tellFailures } from '../shared/concurrency/loop-failures.ts'
import { WorkQueue } from '../shared/concurrency/work-queue.ts'
import { createEventFilter, type KnownEvent } from '../shared/events/event-filter.ts'
import type { Log } from '../shared/log/log.ts'

export interface RecordedEvent {
  kind: string
  /** Names the version of the object; `v1` by default. */
  apiVersion?: string
  regarding: { metadata: ObjectMeta }
  type: 'Normal' | 'Warning'
  reason: string
  message: string
  /**
   * Names what was being done, such as `Binding`. With it the event is of the newer kind (eventTime, reporting
   * controller), as the scheduler writes them.
   */
  action?: string
}

/**
 * Writes events in the background; equal ones are counted. Never in the way: beyond a bound they are dropped, as
 * upstream does.
 */
export interface EventRecorder {
  record(event: RecordedEvent): void
  close(): Promise<void>
}

interface RecorderOptions {
  client: Client
  clock: Clock
  log: Log
  component: string
}

const MAX_WAITING = 1_000
const MAX_MESSAGE_CHARACTERS = 1_024

interface Entry {
  event: Event
  /** Counts how often the event happened, and holds the count that was written last. */
  count: number
  written: number
}

class Recorder implements EventRecorder {
  readonly #client: Client
  readonly #clock: Clock
  readonly #component: string
  readonly #filter = createEventFilter()
  readonly #entries = new WeakMap<KnownEvent, Entry>()
  #waiting = 0
  #made = 0
  readonly #queue: WorkQueue<Entry>

  constructor({ client, clock, log, component }: RecorderOptions) {
    this.#client = client
    this.#clock = clock
    this.#component = component
    const lost = tellFailures({ clock, log, loop: component, object: nameOf, outcome: 'which is lost' })
    this.#queue = new WorkQueue<Entry>({
      clock,
      concurrency: 4,
      work: (entry) => this.#post(entry).catch((error) => lost(error, entry)),
      onError: lost,
    })
  }

  record(event: RecordedEvent): void {
    if (this.#waiting >= MAX_WAITING) return
    const entry = this.#entryFor(event)
    if (!entry) return
    entry.count += 1
    this.#waiting += 1
    this.#queue.add(entry)
  }

  close(): Promise<void> {
    return this.#queue.close()
  }

  async #post(entry: Entry): Promise<void> {
    const { event, count, written } = entry
    this.#waiting -= count - written
    entry.written = count
    const { metadata, message } = event
    const { namespace, name = '' } = metadata
    const news = { ...(event.count && { count, lastTimestamp: toTime(this.#clock.now()) }), message }
    if (written > 0) {
      // Events do not last.
      const found = await this.#client.patch(events, { namespace, name }, news).catch(ignoreNotFound)
      if (found) return
    }
    await this.#client.create<Event>(events, { ...event, ...news }, { unread: true })
  }

  #build({ kind, apiVersion = 'v1', regarding, type, reason, action, message }: RecordedEvent): Event {
    const { name, namespace, uid, resourceVersion } = regarding.metadata
    const nowMs = this.#clock.now()
    this.#made += 1
    const nanos = BigInt(Math.floor(nowMs)) * 1_000_000n + BigInt(this.#made % 1_000_000)
    const when = action
      ? { action, eventTime: toMicroTime(nowMs), reportingInstance: `${this.#component}-kubestage` }
      : {
          source: { component: this.#component },
          count: 1,
          firstTimestamp: toTime(nowMs),
          lastTimestamp: toTime(nowMs),
        }
    return {
      metadata: { name: `${name}.${nanos.toString(16)}`, namespace: namespace ?? 'default' },
      involvedObject: { kind, apiVersion, namespace, name, uid, resourceVersion },
      type,
      reason,
      message: message.slice(0, MAX_MESSAGE_CHARACTERS),
      reportingComponent: this.#component,
      ...when,
    }
  }

  /** Returns undefined for an object that has had its share. */
  #entryFor(event: RecordedEvent): Entry | undefined {
    const { kind, apiVersion = 'v1', regarding, type, reason, message } = event
    if (event.action) return { event: this.#build(event), count: 0, written: 0 }
    const { name = '', namespace, uid = '' } = regarding.metadata
    const object = { kind, apiVersion, name, namespace, uid }
    const decision = this.#filter.admit({ object, type, reason, message }, this.#clock.now())
    if (!decision) return undefined
    const entry = this.#entries.get(decision.known) ?? {
      event: this.#build({ ...event, message: decision.message }),
      count: 0,
      written: 0,
    }
    entry.event.message = decision.message.slice(0, MAX_MESSAGE_CHARACTERS)
    this.#entries.set(decision.known, entry)
    return entry
  }
}

export const createEventRecorder = (options: RecorderOptions): EventRecorder => new Recorder(options)

function nameOf({ event: { involvedObject } }: Entry): string {
  const { kind, namespace, name } = involvedObject
  return `an Event of ${kind} ${namespace ? `${namespace}/` : ''}${name}`
}
