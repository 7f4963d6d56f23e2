import type { Clock, Timer } from '../../shared/clock/clock.ts'
import { CompactedError, type Storage } from './storage.ts'

/** Upstream's default of `--etcd-compaction-interval`. */
const INTERVAL_MS = 5 * 60_000

/**
 * Decides which revisions a list may still read. Every five minutes, all revisions before the previous compaction are
 * dropped, so a `continue` token lasts five to ten minutes, however many pages were read with it. Watches do not depend
 * on compaction: they resume from the watch caches. Upstream:
 * staging/src/k8s.io/apiserver/pkg/storage/etcd3/compact.go.
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

  /** Throws CompactedError if the revision was dropped. */
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
