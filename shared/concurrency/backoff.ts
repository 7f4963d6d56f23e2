/**
 * Delays that grow after each failure in a row. With jitter 1 a delay is spread over [d, 2d), so that clients of a
 * restarted server do not come back in step.
 */
export interface Backoff {
  next(): number
  reset(): void
}
export interface BackoffOptions {
  initialMs: number
  maxMs: number
  /** Multiplies the delay after each failure; 2 by default. */
  factor?: number
  /** Fraction of the delay that chance adds. Default 0. */
  jitter?: number
  random?: () => number
}

export function createBackoff(options: BackoffOptions): Backoff {
  const { initialMs, maxMs, factor = 2, jitter = 0, random = Math.random } = options
  let delayMs = initialMs
  return {
    next() {
      const current = delayMs
      delayMs = Math.min(maxMs, delayMs * factor)
      return current * (1 + jitter * random())
    },
    reset() {
      delayMs = initialMs
    },
  }
}
