import type { Clock } from './clock.ts'

/** `Clock.sleep` in terms of `Clock.setTimer`, for every clock alike. */
export function sleepOn(clock: Clock, delayMs: number, options: { signal?: AbortSignal } = {}): Promise<void> {
  const { signal } = options
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const onAbort = (): void => {
      timer.cancel()
      reject(signal?.reason)
    }
    const timer = clock.setTimer(delayMs, () => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    })
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}
