import type { Clock } from '../../shared/clock/clock.ts'

/** After this, whatever was expected is held to have come unseen; upstream's ExpectationsTimeout. */
const TIMEOUT_MS = 5 * 60_000

/**
 * What an owner has asked for and its informer has not shown yet: until it has, the informer's copy
 * must not be counted, or pods would be made twice. Upstream: pkg/controller/controller_utils.go.
 */
export class Expectations {
  readonly #pending = new Map<string, { awaited: Set<string>; sinceMs: number }>()
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** `what`: any name, e.g. the UID of a pod and what is to become of it. */
  expect(owner: string, what: string): void {
    const entry = this.#pending.get(owner) ?? { awaited: new Set(), sinceMs: 0 }
    entry.awaited.add(what)
    entry.sinceMs = this.#clock.monotonic()
    this.#pending.set(owner, entry)
  }

  /** It was seen, or need not be waited for. */
  seen(owner: string, what: string): void {
    const entry = this.#pending.get(owner)
    if (entry?.awaited.delete(what) && entry.awaited.size === 0) this.#pending.delete(owner)
  }

  satisfied(owner: string): boolean {
    const entry = this.#pending.get(owner)
    return entry === undefined || this.#clock.monotonic() - entry.sinceMs > TIMEOUT_MS
  }

  forget(owner: string): void {
    this.#pending.delete(owner)
  }
}
