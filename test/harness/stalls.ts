import { monitorEventLoopDelay } from 'node:perf_hooks'

const sampledMs = 10
const nanosecondsPerMs = 1e6

/**
 * How long this process stood still at most while the work went on beside it, in milliseconds: it has nothing else to do then, so
 * it was the machine that was too busy, or stopped.
 */
export async function withStalls<Result>(work: () => Promise<Result>): Promise<{ result: Result; stalledMs: number }> {
  // What it starts is started first: that takes its time by itself.
  const working = work()
  const monitor = monitorEventLoopDelay({ resolution: sampledMs })
  monitor.enable()
  try {
    const result = await working
    return { result, stalledMs: Math.round(monitor.max / nanosecondsPerMs) }
  } finally {
    monitor.disable()
  }
}
