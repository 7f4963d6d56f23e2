import { realClock } from '../../shared/clock/real-clock.ts'

export interface UntilOptions {
  /** What is waited for, for the message when it does not come. */
  what: string
  timeoutMs?: number
}

const betweenMs = 20

/** Resolves to the first truthy value of `condition`. */
export async function until<Value>(
  condition: () => Value | Promise<Value>,
  { what, timeoutMs = 60_000 }: UntilOptions,
): Promise<NonNullable<Value>> {
  const deadline = realClock.monotonic() + timeoutMs
  for (;;) {
    const value = await condition()
    if (value) return value
    if (realClock.monotonic() > deadline) throw new Error(`timed out after ${timeoutMs} ms waiting for ${what}`)
    await realClock.sleep(betweenMs)
  }
}
