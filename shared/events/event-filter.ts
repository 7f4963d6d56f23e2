export type EventType = 'Normal' | 'Warning'
export interface ObjectReference {
  kind: string
  apiVersion: string
  namespace?: string
  name: string
  uid: string
  resourceVersion?: string
  fieldPath?: string
}

/** An event that was told before: the next of its kind only counts it up. `name`: empty until it is posted. */
export interface KnownEvent {
  name: string
  count: number
}
export interface EventFilter {
  /** Admits an event. Returns undefined if the object has had its share of events. */
  admit(event: IncomingEvent, nowMs: number): { known: KnownEvent; message: string } | undefined
}
export interface IncomingEvent {
  object: ObjectReference
  type: EventType
  reason: string
  message: string
}

const MAX_KNOWN = 4_096
const BURST = 25
const REFILL_MS = 300_000
/** From the tenth distinct message of one reason on, they share one event. */
const MAX_SIMILAR = 10
const SIMILAR_WITHIN_MS = 600_000

/**
 * client-go's three steps against noise: similar events are combined, equal ones counted, and each object has a budget.
 */
export function createEventFilter(): EventFilter {
  const known = new Lru<KnownEvent>()
  const similar = new Lru<{ messages: string[]; lastMs: number }>()
  const budgets = new Lru<{ tokens: number; atMs: number }>()

  function combined({ object, type, reason, message }: IncomingEvent, nowMs: number): boolean {
    const key = keyOf(withoutField(object), type, reason)
    const group = similar.get(key)
    const live = group && nowMs - group.lastMs <= SIMILAR_WITHIN_MS ? group : { messages: [], lastMs: nowMs }
    // More would change nothing, and there may be a new one every second for days.
    if (live.messages.length < MAX_SIMILAR && !live.messages.includes(message)) live.messages.push(message)
    live.lastMs = nowMs
    similar.set(key, live)
    return live.messages.length >= MAX_SIMILAR
  }

  function spend({ object, type }: IncomingEvent, nowMs: number): boolean {
    const key = keyOf(withoutField(object), type)
    const budget = budgets.get(key) ?? { tokens: BURST, atMs: nowMs }
    const tokens = Math.min(BURST, budget.tokens + (nowMs - budget.atMs) / REFILL_MS)
    budgets.set(key, { tokens: tokens >= 1 ? tokens - 1 : tokens, atMs: nowMs })
    return tokens >= 1
  }

  return {
    admit(event, nowMs) {
      const { object, type, reason } = event
      const many = combined(event, nowMs)
      const message = many ? `(combined from similar events): ${event.message}` : event.message
      const key = many ? keyOf(withoutField(object), type, reason) : keyOf(object, type, reason, message)
      if (!spend(event, nowMs)) return undefined
      const entry = known.get(key) ?? { name: '', count: 0 }
      known.set(key, entry)
      return { known: entry, message }
    },
  }
}

const keyOf = ({ kind, uid, name, namespace, fieldPath }: ObjectReference, ...more: string[]): string =>
  [kind, namespace, name, uid, fieldPath, ...more].join('\u0000')
const withoutField = (object: ObjectReference): ObjectReference => ({ ...object, fieldPath: undefined })

class Lru<Value> {
  readonly #entries = new Map<string, Value>()
  get(key: string): Value | undefined {
    const value = this.#entries.get(key)
    if (value !== undefined) {
      this.#entries.delete(key)
      this.#entries.set(key, value)
    }
    return value
  }
  set(key: string, value: Value): void {
    this.#entries.delete(key)
    this.#entries.set(key, value)
    if (this.#entries.size <= MAX_KNOWN) return
    const [oldest] = this.#entries.keys()
    if (oldest !== undefined) this.#entries.delete(oldest)
  }
}
