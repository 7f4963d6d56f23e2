import type { Clock } from '../clock/clock.ts'
import { collectGarbage } from './collect-garbage.ts'
import { keepCompiled } from './keep-compiled.ts'
import { optimizeSooner } from './optimize-sooner.ts'

/** Milliseconds after the start, when the first clients have been served. */
const settledMs = 500

/**
 * Tidies up after a program's start; call it when the program has started. It saves the code that the start compiled,
 * so that the next start is fast even if this process is killed, and has V8 optimize sooner. It also returns memory: a
 * start leaves an enlarged nursery, code that is not run again and half-empty pages, 15 MB, which V8 would keep until
 * memory is short.
 */
export function settle(clock: Clock): void {
  const tidy = (): void => {
    keepCompiled() // first: the next start needs the code that is not run again
    optimizeSooner()
    void collectGarbage()
  }
  clock.setTimer(settledMs, tidy, { background: true })
}
