import type { Clock } from '../../shared/clock/clock.ts'
import { toTime } from '../../shared/clock/timestamp.ts'
import type { CpuStats } from './summary.ts'

interface Reading {
  seconds: number
  atMs: number
}

/** Makes counters of processor times: they never fall, and their rate is that since the reading before. */
export class CpuMeter {
  readonly #clock: Clock
  readonly #last = new Map<string, Reading>()

  /** `clock`: the machine's. */
  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Returns the counter of one container. The use of an orphaned process is lost with the process: the counter then
   * stands still until the others have used as much.
   */
  of(id: string, measuredSeconds: number): CpuStats {
    const before = this.#last.get(id)
    const atMs = this.#clock.monotonic()
    const seconds = Math.max(measuredSeconds, before?.seconds ?? 0)
    this.#last.set(id, { seconds, atMs })
    const elapsedMs = before ? atMs - before.atMs : 0
    return {
      time: toTime(this.#clock.now()),
      ...(before && elapsedMs > 0 && { usageNanoCores: Math.round(((seconds - before.seconds) * 1e12) / elapsedMs) }),
      usageCoreNanoSeconds: Math.round(seconds * 1e9),
    }
  }

  /** Forgets all others. */
  keep(ids: ReadonlySet<string>): void {
    for (const id of this.#last.keys()) if (!ids.has(id)) this.#last.delete(id)
  }
}
