import type { Clock } from './clock.ts'

/** Whether `work` was done in time. It goes on if not; rejects as it does. */
export async function withinLimit(work: Promise<unknown>, limitMs: number, clock: Clock): Promise<boolean> {
  const limit = Promise.withResolvers<false>()
  const timer = clock.setTimer(limitMs, () => limit.resolve(false))
  try {
    return await Promise.race([work.then(() => true as const), limit.promise])
  } finally {
    timer.cancel()
  }
}
