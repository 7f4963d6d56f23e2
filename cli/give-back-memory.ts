import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Clock } from '../shared/clock/clock.ts'

/** After the start: when the first clients have been served what they wait for. */
const settledMs = 500

/** Garbage that is collected on demand, and how thoroughly (V8's `gc`, with --expose-gc). */
type CollectGarbage = (options: { type: 'major'; execution: 'async'; flavor: 'last-resort' }) => Promise<void>

/**
 * A start leaves a grown nursery, code that nobody runs again and half-empty pages: 15 MB, which V8 would keep
 * until memory is short. One thorough collection gives them back.
 */
export function giveBackMemory(clock: Clock): void {
  clock.setTimer(
    settledMs,
    () => {
      setFlagsFromString('--expose-gc')
      const collect = runInNewContext('gc') as CollectGarbage
      void collect({ type: 'major', execution: 'async', flavor: 'last-resort' })
    },
    { background: true },
  )
}
