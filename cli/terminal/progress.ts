import type { Clock } from '../../shared/clock/clock.ts'
import { realClock } from '../../shared/clock/real-clock.ts'

const stepMs = 1_000

/**
 * A line on a terminal, from the second second on, that says what is waited for and how long; gone when the work is
 * over.
 */
export async function withProgress<Result>(
  doing: string | (() => string),
  work: Promise<Result>,
  { stream = process.stderr, clock = realClock }: { stream?: NodeJS.WriteStream; clock?: Clock } = {},
): Promise<Result> {
  if (!stream.isTTY) return await work
  const startMs = clock.monotonic()
  let isShown = false
  const show = (): void => {
    isShown = true
    const text = typeof doing === 'string' ? doing : doing()
    stream.write(`\r\u001b[K${text} … ${Math.round((clock.monotonic() - startMs) / 1000)} s`)
    timer = clock.setTimer(stepMs, show)
  }
  let timer = clock.setTimer(stepMs, show)
  try {
    return await work
  } finally {
    timer.cancel()
    if (isShown) stream.write('\r\u001b[K')
  }
}
