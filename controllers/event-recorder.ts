import type { Event, ObjectMeta } from '../shared/api/types.ts'
import type { Client } from '../shared/client/client.ts'
import { events } from '../shared/client/resources.ts'
import type { Clock } from '../shared/clock/clock.ts'
import { toMicroTime, toTime } from '../shared/clock/timestamp.ts'
import { createWorkQueue } from '../shared/concurrency/work-queue.ts'
import type { Log } from './controller.ts'

export interface RecordedEvent {
  kind: string
  /** Default `v1`. */
  apiVersion?: string
  regarding: { metadata: ObjectMeta }
  type: 'Normal' | 'Warning'
  reason: string
  message: string
  /** What was being done, e.g. `Binding`: makes an event of the newer kind (eventTime, reporting controller), as the scheduler writes them. */
  action?: string
}

/** Writes events in the background. Never in the way: beyond a bound they are dropped, as upstream does. */
export interface EventRecorder {
  record(event: RecordedEvent): void
  close(): Promise<void>
}

const MAX_WAITING = 1_000
const MAX_MESSAGE_CHARACTERS = 1_024

export function createEventRecorder(options: {
  client: Client
  clock: Clock
  log: Log
  component: string
}): EventRecorder {
  const { client, clock, log, component } = options
  const waiting = new Map<number, Event>()
  let count = 0

  async function post(number: number): Promise<void> {
    const event = waiting.get(number)
    waiting.delete(number)
    if (event) await client.create<Event>(events, event)
  }

  const queue = createWorkQueue<number>({
    clock,
    concurrency: 4,
    work: post,
    onError: (error) => log.debug({ err: error }, 'an event was lost'),
  })

  function build({ kind, apiVersion = 'v1', regarding, type, reason, action, message }: RecordedEvent): Event {
    const { name, namespace, uid, resourceVersion } = regarding.metadata
    const nowMs = clock.now()
    const nanos = BigInt(Math.floor(nowMs)) * 1_000_000n + BigInt(count % 1_000_000)
    const when = action
      ? { action, eventTime: toMicroTime(nowMs), reportingInstance: `${component}-kubestage` }
      : { source: { component }, count: 1, firstTimestamp: toTime(nowMs), lastTimestamp: toTime(nowMs) }
    return {
      metadata: { name: `${name}.${nanos.toString(16)}`, namespace: namespace ?? 'default' },
      involvedObject: { kind, apiVersion, namespace, name, uid, resourceVersion },
      type,
      reason,
      message: message.slice(0, MAX_MESSAGE_CHARACTERS),
      reportingComponent: component,
      ...when,
    }
  }

  return {
    record(event) {
      if (waiting.size >= MAX_WAITING) return
      count += 1
      waiting.set(count, build(event))
      queue.add(count)
    },
    close: () => queue.close(),
  }
}
