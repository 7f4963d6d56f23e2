import type { Clock, Timer } from '../../shared/clock/clock.ts'
import { CompactedError, type Storage } from './storage.ts'

/** Upstream's default of `--etcd-compaction-interval`. */
const INTERVAL_MS = 5 * 60_000

/**
 * Which revisions a list may still show. Every five minutes the ones from before the last time are over, so that a
 * `continue` token lasts five to ten minutes, however many pages were read with it. Watches resume from what the watch
 * caches remember. Upstream: staging/src/k8s.io/apiserver/pkg/storage/etcd3/compact.go.
 */
export class Compaction {
  readonly #storage: Pick<Storage, 'revision'>
  readonly #clock: Clock
  #oldest = 0
  /** The revision of the last time; there is none at the start. */
  #last = 0
  #timer: Timer

  constructor(storage: Pick<Storage, 'revision'>, clock: Clock) {
    this.#storage = storage
    this.#clock = clock
    this.#timer = this.#wait()
  }

  /** Throws CompactedError for a revision that is over. */
  check(revision: number): void {
    if (revision < this.#oldest) throw new CompactedError(this.#oldest)
  }

  close(): void {
    this.#timer.cancel()
  }

  #wait(): Timer {
    return this.#clock.setTimer(INTERVAL_MS, () => this.#compact(), { background: true })
  }

  #compact(): void {
    this.#oldest = this.#last
    this.#last = this.#storage.revision()
    this.#timer = this.#wait()
  }
}
