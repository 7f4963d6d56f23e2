import type { StatusError } from '../../../shared/api/status/status-error.ts'
import { modified, timeout } from '../../../shared/api/status/status-errors.ts'
import type { ObjectScope } from '../write-context.ts'
import type { WritePath } from './write-path.ts'

/**
 * The tries of one write may take this long together, as upstream: requestTimeoutUpperBound in pkg/endpoints/handlers.
 */
const limitMs = 34_000
const triesAlone = 5

type Registry = Pick<WritePath, 'storage' | 'clock' | 'turns'>

/**
 * Counts the tries of a write that may be repeated, since it names no resourceVersion. Within one server, writers of an
 * object take turns after the first try, so that few tries are needed. With several servers, others may write in
 * between: there the write is tried, as upstream does, for as long as a request may take.
 */
export class WriteTries {
  readonly #registry: Registry
  readonly #beganMs: number
  #count = 0

  constructor(registry: Registry) {
    this.#registry = registry
    this.#beganMs = registry.clock.machine.monotonic()
  }

  /**
   * Counts a try to which another write came first. Throws a StatusError if this was the last try: 504 with several
   * servers, 409 with one.
   */
  lost({ definition, name }: ObjectScope): void {
    const { storage } = this.#registry
    this.#count += 1
    if (!storage.catchUp && this.#count >= triesAlone) throw modified(definition, name)
    this.checkTime()
  }

  /** Throws a StatusError (504) when the write's time is over. */
  checkTime(): void {
    if (this.#leftMs() <= 0) throw tooLate()
  }

  /**
   * Resolves when no writer that asked earlier is at work on the object. Rejects with a StatusError (504) when the
   * write's time is over before.
   */
  async turn(key: string): Promise<Disposable> {
    const { turns, clock } = this.#registry
    const leave = new AbortController()
    const timer = clock.machine.setTimer(this.#leftMs(), () => leave.abort(tooLate()), { background: true })
    try {
      return await turns.take(key, leave.signal)
    } finally {
      timer.cancel()
    }
  }

  #leftMs(): number {
    return this.#beganMs + limitMs - this.#registry.clock.machine.monotonic()
  }
}

const tooLate = (): StatusError =>
  timeout('request did not complete within requested timeout - context deadline exceeded')
