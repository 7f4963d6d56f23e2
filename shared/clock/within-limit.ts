import type { Clock } from './clock.ts'

/**
 * Resolves with true if `work` is done within the limit, else with false; the work then continues. Rejects if `work`
 * rejects within the limit.
 */
export async function withinLimit(work: Promise<unknown>, limitMs: number, clock: Clock): Promise<boolean> {
  const limit = Promise.withResolvers<false>()
  const timer = clock.setTimer(limitMs, () => limit.resolve(false))
  try {
    return await Promise.race([work.then(() => true as const), limit.promise])
  } finally {
    timer.cancel()
  }
}
