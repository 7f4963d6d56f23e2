import type { Clock } from '../shared/clock/clock.ts'
import { collectGarbage } from '../shared/memory/collect-garbage.ts'

/** After the start: when the first clients have been served what they wait for. */
const settledMs = 500

/**
 * A start leaves a grown nursery, code that nobody runs again and half-empty pages: 15 MB, which V8 would keep
 * until memory is short. One thorough collection gives them back.
 */
export function giveBackMemory(clock: Clock): void {
  clock.setTimer(settledMs, () => void collectGarbage(), { background: true })
}
