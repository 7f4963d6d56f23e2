/**
 * Decides how long a failing container or image pull waits before its next try: 10 s, doubling to 300 s; 600 s without
 * a failure reset it. The state is in memory only, as in the real kubelet: a restarted kubelet begins at 10 s.
 */
export interface RestartBackoff {
  /**
   * Milliseconds since the epoch before which `key`, which failed at `failedAtMs`, may not run; undefined when it may
   * at any time.
   */
  waitUntil(key: string, failedAtMs: number): number | undefined
  /** Notes a further try: the next wait will be longer. */
  next(key: string, failedAtMs: number, nowMs: number): void
  /** The wait that holds now, for messages. */
  delayMs(key: string): number
  /** The time of the last further try. */
  updatedAtMs(key: string): number | undefined
  forget(prefix: string): void
}

export interface RestartBackoffOptions {
  initialMs: number
  maxMs: number
}
const DEFAULTS: RestartBackoffOptions = { initialMs: 10_000, maxMs: 300_000 }
const FORGET_AFTER_MS = 600_000

export function createRestartBackoff({ initialMs, maxMs }: RestartBackoffOptions = DEFAULTS): RestartBackoff {
  const entries = new Map<string, { delayMs: number; updatedAtMs: number }>()
  const current = (key: string, failedAtMs: number) => {
    const entry = entries.get(key)
    return entry && failedAtMs - entry.updatedAtMs <= FORGET_AFTER_MS ? entry : undefined
  }
  return {
    waitUntil(key, failedAtMs) {
      const entry = current(key, failedAtMs)
      return entry && failedAtMs + entry.delayMs
    },
    next(key, failedAtMs, nowMs) {
      const entry = current(key, failedAtMs)
      entries.set(key, {
        delayMs: entry ? Math.min(maxMs, entry.delayMs * 2) : Math.min(maxMs, initialMs),
        updatedAtMs: nowMs,
      })
    },
    delayMs: (key) => entries.get(key)?.delayMs ?? 0,
    updatedAtMs: (key) => entries.get(key)?.updatedAtMs,
    forget(prefix) {
      for (const key of entries.keys()) if (key.startsWith(prefix)) entries.delete(key)
    },
  }
}
