import type { KubeObject } from '../../shared/api/types.ts'
import type { CachedObject } from './cached-object.ts'
import type { CacheEvent } from './watch-record.ts'

interface Held {
  event: CacheEvent
  /** The parsed value of the event's object, if the writer had it. */
  decoded: KubeObject | undefined
}

interface HeldEventsOptions {
  /** Stored values as they are shown. Rejects with a StatusError. */
  convert(values: readonly string[]): Promise<readonly string[]>
  replace(object: CachedObject, converted: CachedObject): void
  tell(event: CacheEvent, decoded: KubeObject | undefined): void
  /** The events are dropped: what they showed cannot be told. */
  fail(): void
}

/** More, and watchers list again. */
const maxHeld = 10_000

/**
 * Events of objects that another server has written, and which a webhook has to convert before they are told. Those
 * that come later wait for them, so that the order stays.
 */
export class HeldEvents {
  readonly #options: HeldEventsOptions
  #events: Held[] = []
  #releasing: Promise<void> | undefined

  constructor(options: HeldEventsOptions) {
    this.#options = options
  }

  /** Resolves when they have been told, or dropped; undefined where there are none. */
  released(): Promise<void> | undefined {
    return this.#releasing
  }

  hold(event: CacheEvent, decoded: KubeObject | undefined): void {
    if (this.#events.length >= maxHeld) this.#drop()
    this.#events.push({ event, decoded })
    this.#releasing ??= this.#release()
  }

  async #release(): Promise<void> {
    while (this.#events.length > 0) {
      const batch = [...this.#events]
      const objects = [...new Set(batch.flatMap(({ event }) => unaskedOf(event)))]
      let forms: readonly string[]
      try {
        forms = await this.#options.convert(objects.map(({ stored }) => stored.value))
      } catch {
        this.#drop()
        break
      }
      if (this.#events[0] !== batch[0]) continue
      const converted = new Map(objects.map((object, index) => [object, object.showing(forms[index]!)]))
      for (const [object, shown] of converted) this.#options.replace(object, shown)
      this.#events = this.#events.slice(batch.length)
      for (const { event, decoded } of batch) {
        show(event, converted)
        this.#options.tell(event, decoded)
      }
    }
    this.#releasing = undefined
  }

  #drop(): void {
    this.#events = []
    this.#options.fail()
  }
}

const parts = ['current', 'previous', 'last'] as const

/** What the webhook has to be asked for before the event can be told. */
export const unaskedOf = (event: CacheEvent): CachedObject[] =>
  parts.flatMap((part) => (event[part]?.isUnasked ? [event[part]] : []))

function show(event: CacheEvent, converted: ReadonlyMap<CachedObject, CachedObject>): void {
  for (const part of parts) {
    const object = event[part] && converted.get(event[part])
    if (object) event[part] = object
  }
}
