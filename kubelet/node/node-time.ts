import type { MovableClock } from '../../shared/clock/movable-clock.ts'
import { withinLimit } from '../../shared/clock/within-limit.ts'
import type { Activity } from '../../shared/concurrency/activity.ts'

/** The node's time, which is moved together with the cluster's. */
export interface NodeTime {
  /**
   * Moves it forward until it has been moved by `movedMs` in all. Resolves when what was due has been done, as far as
   * that takes moments: to the milliseconds until there is more to do, if anything. `isLast`: no other move follows at
   * once, so containers are told.
   */
  moveTo(movedMs: number, options: { isLast: boolean }): Promise<number | undefined>
}

export interface NodeTimeOptions {
  clock: MovableClock
  /** Counts the work that waits for the API server, or for containers to start. */
  activity: Activity
  tellContainers(movedMs: number, isLast: boolean): void
}

/** Work that is not done by then waits for something else. */
const PATIENCE_MS = 500

export function createNodeTime({ clock, activity, tellContainers }: NodeTimeOptions): NodeTime {
  return {
    async moveTo(movedMs, { isLast }) {
      const aheadMs = movedMs - clock.movedMs
      if (aheadMs > 0) await clock.advance(aheadMs)
      if (aheadMs > 0 || isLast) tellContainers(movedMs, isLast)
      await withinLimit(activity.quiet(), PATIENCE_MS, clock.machine)
      const deadline = clock.nextDeadline()
      return deadline === undefined ? undefined : Math.max(0, deadline - clock.monotonic())
    },
  }
}
