import type { Clock, Timer } from '../../../../shared/clock/clock.ts'
import type { Sandbox } from '../../container-runtime.ts'

interface PidsWatchOptions {
  sandboxes(): Iterable<Sandbox>
  /** Counts how often the kernel has refused the pod another process. */
  refused(sandbox: Sandbox): number
  onRefused(sandbox: Sandbox): void
  /** The machine's. */
  clock: Clock
}

const periodMs = 5_000

/** Tells of pods that want more processes than they may have, at most once in each period. */
export class PidsWatch {
  readonly #options: PidsWatchOptions
  readonly #told = new WeakMap<Sandbox, number>()
  #timer: Timer | undefined

  constructor(options: PidsWatchOptions) {
    this.#options = options
    this.#lookLater()
  }

  close(): void {
    this.#timer?.cancel()
  }

  #lookLater(): void {
    this.#timer = this.#options.clock.setTimer(periodMs, () => this.#look(), { background: true })
  }

  #look(): void {
    const { sandboxes, refused, onRefused } = this.#options
    for (const sandbox of sandboxes()) {
      if (sandbox.state !== 'ready' || sandbox.limits?.pids === undefined) continue
      const count = refused(sandbox)
      if (count > (this.#told.get(sandbox) ?? 0)) onRefused(sandbox)
      this.#told.set(sandbox, count)
    }
    this.#lookLater()
  }
}
