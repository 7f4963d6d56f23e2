import { realClock } from '../../shared/clock/real-clock.ts'
import { whenNpmEnds } from './npm-shell.ts'

/** Signals within this time are one Ctrl-C, which can arrive twice: from the terminal and through npm. */
const oneKeyPressMs = 300

/**
 * Resolves at the first SIGINT, SIGTERM or SIGHUP, or when npx ends. `again` resolves at the second signal. (The
 * promise is in an object, because a promise of a promise would wait for both.)
 */
export function untilStopped(): Promise<{ again: Promise<void> }> {
  const first = Promise.withResolvers<{ again: Promise<void> }>()
  const second = Promise.withResolvers<void>()
  let firstMs: number | undefined
  const receive = (): void => {
    const nowMs = realClock.monotonic()
    firstMs ??= nowMs
    first.resolve({ again: second.promise })
    if (nowMs - firstMs > oneKeyPressMs) second.resolve()
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, receive)
  whenNpmEnds(() => void (firstMs ?? receive()))
  return first.promise
}
