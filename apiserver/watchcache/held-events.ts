import type { KubeObject } from '../../shared/api/types.ts'
import type { StorageEvent } from '../storage/storage.ts'

/** Stored values as they are shown. */
export type Forms = ReadonlyMap<string, string>

interface Held {
  event: StorageEvent
  /** The parsed value of the event's object, if the writer had it. */
  written: KubeObject | undefined
}

interface HeldEventsOptions {
  /** Values of the event that the webhook has to convert first. */
  valuesOf(event: StorageEvent): string[]
  /** Rejects with a StatusError. */
  convert(values: readonly string[]): Promise<readonly string[]>
  /** Applies an event; it has no forms if the webhook has failed. */
  apply(event: StorageEvent, written: KubeObject | undefined, forms?: Forms): void
  /** Reports that the event applied last could not be converted. */
  fail(): void
}

/** Beyond this number, events are applied as they are. */
const maxHeld = 10_000

/**
 * Changes of objects that another server has written, and which a webhook has to convert before a cache takes them in.
 * Those that come later wait for them: the cache stays as it was before the first, so that the order is kept.
 */
export class HeldEvents {
  readonly #options: HeldEventsOptions
  #events: Held[] = []
  #isReleasing = false
  /** Counts how many events were held; `#applied` how many of them were applied. */
  #held = 0
  #applied = 0
  #waiting: { for: number; resolve(): void }[] = []

  constructor(options: HeldEventsOptions) {
    this.#options = options
  }

  /** The revision that the cache shows meanwhile; undefined where no event is held. */
  get revision(): number | undefined {
    const [first] = this.#events
    return first && first.event.revision - 1
  }

  /** Resolves when those that are held now have been applied; undefined where there are none. */
  applied(): Promise<void> | undefined {
    if (this.#events.length === 0) return undefined
    return new Promise((resolve) => this.#waiting.push({ for: this.#held, resolve }))
  }

  hold(event: StorageEvent, written: KubeObject | undefined): void {
    this.#events.push({ event, written })
    this.#held++
    if (this.#events.length > maxHeld) this.#giveUp()
    else if (!this.#isReleasing) void this.#release()
  }

  async #release(): Promise<void> {
    this.#isReleasing = true
    while (this.#events.length > 0) {
      const batch = [...this.#events]
      const values = [...new Set(batch.flatMap(({ event }) => this.#options.valuesOf(event)))]
      const forms = await this.#options.convert(values).catch(() => undefined)
      if (this.#events[0] !== batch[0]) continue
      if (forms) this.#apply(batch.length, new Map(values.map((value, index) => [value, forms[index]!])))
      else this.#giveUp()
    }
    this.#isReleasing = false
  }

  #giveUp(): void {
    this.#apply(this.#events.length)
    this.#options.fail()
  }

  #apply(count: number, forms?: Forms): void {
    for (let left = count; left > 0; left--) {
      const { event, written } = this.#events.shift()!
      this.#options.apply(event, written, forms)
    }
    this.#applied += count
    const isOver = (waiting: { for: number }): boolean => waiting.for <= this.#applied
    for (const { resolve } of this.#waiting.filter(isOver)) resolve()
    this.#waiting = this.#waiting.filter((waiting) => !isOver(waiting))
  }
}
