import type { Clock } from '../../shared/clock/clock.ts'

/** An expectation counts as fulfilled unseen after this time; upstream's ExpectationsTimeout. */
const TIMEOUT_MS = 5 * 60_000

/**
 * Tracks what an owner has requested and its informer has not shown yet. Until the expectations of an owner are
 * satisfied, the informer's pods must not be counted, or pods would be created twice. Upstream:
 * pkg/controller/controller_utils.go.
 */
export class Expectations {
  readonly #pending = new Map<string, { awaited: Set<string>; sinceMs: number }>()
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Adds an expectation. `what` is any name, such as the UID of a pod and whether it appears or disappears. */
  expect(owner: string, what: string): void {
    const entry = this.#pending.get(owner) ?? { awaited: new Set(), sinceMs: 0 }
    entry.awaited.add(what)
    entry.sinceMs = this.#clock.monotonic()
    this.#pending.set(owner, entry)
  }

  /** Removes an expectation that was fulfilled, or cannot be. */
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
