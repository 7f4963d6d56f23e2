import type { Clock } from '../clock/clock.ts'
import { measureBusyShare } from './busy-share.ts'
import { collectGarbage } from './collect-garbage.ts'
import { keepCompiled } from './keep-compiled.ts'
import { optimizeSooner } from './optimize-sooner.ts'

/** Milliseconds after the start, when the first clients have been served. */
const settledMs = 500
/** A process whose event loop works for a smaller share of that time has no clients yet. */
const idle = 0.2

/**
 * Tidies up after a program's start; call it when the program has started. It saves the code that the start compiled,
 * so that the next start is fast even if this process is killed, and has V8 optimize sooner. It also returns memory: a
 * start leaves an enlarged nursery, code that is not run again and half-empty pages, 12 MB, which V8 would keep until
 * memory is short. V8 gives back all code, so that a process with clients would compile theirs again.
 */
export function settle(clock: Clock): void {
  const busyShare = measureBusyShare()
  const tidy = (): void => {
    keepCompiled() // first: the next start needs the code that is not run again
    optimizeSooner()
    if (busyShare() < idle) void collectGarbage()
  }
  clock.setTimer(settledMs, tidy, { background: true })
}
