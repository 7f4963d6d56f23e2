import type { Event, Pod } from '../shared/api/types.ts'
import type { Client } from '../shared/client/client.ts'
import { events } from '../shared/client/resources.ts'
import type { Clock } from '../shared/clock/clock.ts'
import { toMicroTime } from '../shared/clock/timestamp.ts'
import { createWorkQueue } from '../shared/concurrency/work-queue.ts'
import type { Log } from './controller.ts'

export interface RecordedEvent {
  regarding: Pod
  type: 'Normal' | 'Warning'
  reason: string
  /** What was being done: `Binding`, `Scheduling`. */
  action: string
  message: string
}

/** Writes events of the newer kind (eventTime, reporting controller). Never in the way: beyond a bound they are dropped, as upstream does. */
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
  controller: string
}): EventRecorder {
  const { client, clock, log, controller } = options
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

  function build({ regarding, type, reason, action, message }: RecordedEvent): Event {
    const { name, namespace, uid, resourceVersion } = regarding.metadata
    const nowMs = clock.now()
    const nanos = BigInt(Math.floor(nowMs)) * 1_000_000n + BigInt(count % 1_000_000)
    return {
      metadata: { name: `${name}.${nanos.toString(16)}`, namespace },
      involvedObject: { kind: 'Pod', apiVersion: 'v1', namespace, name, uid, resourceVersion },
      type,
      reason,
      action,
      message: message.slice(0, MAX_MESSAGE_CHARACTERS),
      eventTime: toMicroTime(nowMs),
      reportingComponent: controller,
      reportingInstance: `${controller}-kubestage`,
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
