import { flushCompileCache } from 'node:module'
import { setFlagsFromString } from 'node:v8'
import type { Clock } from '../clock/clock.ts'
import { measureBusyShare } from './busy-share.ts'
import { collectGarbage } from './collect-garbage.ts'

/** Milliseconds after the start, when the first clients have been served. */
const settledMs = 500
/** A process whose event loop works for a smaller share of that time has no clients at the moment. */
const idle = 0.2
/** A process that has not been idle by then has clients, whose code it shall keep. */
const looks = 10

interface Process {
  /** Returns the share of the time since the last call in which the event loop did not wait. */
  busyShare(): number
  collect(): Promise<void>
}

/**
 * Tidies up after a program's start; call it when the program has started. It saves the code that the start compiled,
 * so that the next start is fast even if this process is killed, and has V8 optimize sooner. It also returns memory: a
 * start leaves an enlarged nursery, code that is not run again and half-empty pages, 12 MB, which V8 would keep until
 * memory is short. V8 gives back all code, so that a process with clients would compile theirs again.
 */
export function settle(clock: Clock, { busyShare, collect }: Process = thisProcess()): void {
  const giveBack = (left: number): void => {
    if (busyShare() < idle) void collect()
    else if (left > 1) later(() => giveBack(left - 1))
  }
  const later = (then: () => void): void => void clock.setTimer(settledMs, then, { background: true })
  later(() => {
    keepCompiled() // first: the next start needs the code that is not run again
    optimizeSooner()
    giveBack(looks)
  })
}

const thisProcess = (): Process => ({ busyShare: measureBusyShare(), collect: forgetStart })

/** Keeps what is compiled of a program of the package (bin/program.mjs), which alone has it. */
declare const keepProgram: (() => void) | undefined

/** Saves the code that this process has compiled, so that the next one starts faster. */
function keepCompiled(): void {
  flushCompileCache()
  if (typeof keepProgram === 'function') keepProgram()
}

/**
 * From now on V8 optimizes a function after 150 calls instead of 400, and 200 calls after it last learned of new types
 * instead of 500: most clusters live for a few thousand requests. Call it when the compiled code of the program has
 * been kept, for V8 refuses code that was kept with other flags.
 */
const optimizeSooner = (): void =>
  setFlagsFromString('--invocation-count-for-maglev=150 --minimum-invocations-after-ic-update=200')

/** V8 alone would keep code for six collections, and for longer what it compiled without optimizing. */
async function forgetStart(): Promise<void> {
  setFlagsFromString('--bytecode-old-age=1 --flush-baseline-code')
  await collectGarbage()
  setFlagsFromString('--bytecode-old-age=6 --no-flush-baseline-code')
}
