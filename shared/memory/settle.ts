import { flushCompileCache } from 'node:module'
import type { Clock } from '../clock/clock.ts'
import { collectGarbage } from './collect-garbage.ts'

/** After the start: when the first clients have been served what they wait for. */
const settledMs = 500

/**
 * To be called when a program has started. It keeps the code that the start compiled, so that the next one is quick,
 * also when this one is killed. And it gives memory back: a start leaves a grown nursery, code that is not run again
 * and half-empty pages, 15 MB, which V8 would keep until memory is short.
 */
export function settle(clock: Clock): void {
  const tidy = (): void => {
    flushCompileCache() // first: the next start needs the code that is not run again
    void collectGarbage()
  }
  clock.setTimer(settledMs, tidy, { background: true })
}
