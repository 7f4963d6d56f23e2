import { performance } from 'node:perf_hooks'

/**
 * Returns a function that tells the share of the time since the last call, or since this one, in which the event loop
 * of this process did not wait. CPU time would take a process for idle that has to wait for a core.
 */
export function measureBusyShare(): () => number {
  let before = performance.eventLoopUtilization()
  return () => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, before)
    before = now
    return utilization
  }
}
