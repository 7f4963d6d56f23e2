import type { Clock, Timer } from '../../shared/clock/clock.ts'
import { Child, type ChildSpec, type Ending, type Supervised } from './child.ts'

export interface KeptProcessOptions {
  spec: ChildSpec
  clock: Clock
  /** Holds a process that was started ahead, or by the server before. */
  first?: Supervised
  /** Receives each process that is started, also the first. */
  onStart?(child: Supervised): void
  /** Runs when the process ended without being asked to, before it is started again. */
  onCrash(ending: Ending, restartInMs: number): void
}

const firstDelayMs = 500
const longestDelayMs = 30_000
/** Having lived so long, the next crash counts as the first again. */
const steadyAfterMs = 60_000

/** A process that is started again, ever more slowly, whenever it ends by itself. */
export class KeptProcess {
  /** Resolves when it ended by itself for the first time. */
  readonly firstCrash: Promise<Ending>
  readonly #options: KeptProcessOptions
  #child: Supervised
  #delayMs = firstDelayMs
  #restart: Timer | undefined
  #isStopping = false
  readonly #tellCrash: (ending: Ending) => void

  constructor(options: KeptProcessOptions) {
    this.#options = options
    const { promise, resolve } = Promise.withResolvers<Ending>()
    this.firstCrash = promise
    this.#tellCrash = resolve
    this.#child = options.first ?? new Child(options.spec)
    this.#watch()
  }

  /** Returns the ID of the process that runs now. */
  get pid(): number | undefined {
    return this.#child.pid
  }

  /** Asks it to end, by SIGTERM or by closing its stdin; by SIGKILL after `timeoutMs`. */
  async stop(timeoutMs: number, how: 'SIGTERM' | 'release' = 'SIGTERM'): Promise<void> {
    this.#isStopping = true
    this.#restart?.cancel()
    if (how === 'release') this.#child.release()
    else this.#child.signal(how)
    await this.#child.endWithin(this.#options.clock, timeoutMs)
  }

  kill(): void {
    this.#isStopping = true
    this.#restart?.cancel()
    this.#child.signal('SIGKILL')
  }

  #watch(): void {
    const { clock, onStart } = this.#options
    const child = this.#child
    const startedMs = clock.monotonic()
    onStart?.(child)
    child.ended.then((ending) => {
      if (!this.#isStopping) this.#startAgain(ending, clock.monotonic() - startedMs)
    })
  }

  #startAgain(ending: Ending, livedMs: number): void {
    const { clock, onCrash } = this.#options
    if (livedMs > steadyAfterMs) this.#delayMs = firstDelayMs
    this.#tellCrash(ending)
    onCrash(ending, this.#delayMs)
    this.#restart = clock.setTimer(this.#delayMs, () => {
      this.#child = new Child(this.#options.spec)
      this.#watch()
    })
    this.#delayMs = Math.min(this.#delayMs * 2, longestDelayMs)
  }
}
