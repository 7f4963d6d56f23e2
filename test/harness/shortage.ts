import { readFileSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { realClock } from '../../shared/clock/real-clock.ts'
import { processesWith } from './processes.ts'

const loopSampleMs = 10
const sampleMs = 1_000
const nanosecondsPerMs = 1e6
/** For each second on a CPU, seconds of waiting for one: with more than that, times mean little. */
const tolerableWait = 0.5

/** What a piece of work lacked of the machine. */
export interface Shortage {
  /** How long this process, which had little else to do, stood still at most. */
  stalledMs: number
  /** Seconds that the processes of the work waited for a CPU for each second that they had one. */
  waited: number
}

/**
 * Does the work, and tells what it lacked. `mark` is in the command line or the environment of the processes that the work needs.
 * A measurement for those who compare times: what differs where nothing was lacking differs.
 */
export async function withShortage<Result>(
  mark: string,
  work: () => Promise<Result>,
): Promise<{ result: Result; shortage: Shortage }> {
  // What it starts is started first: that takes its time by itself.
  const working = work()
  const monitor = monitorEventLoopDelay({ resolution: loopSampleMs })
  monitor.enable()
  const over = new AbortController()
  const times = new Map<number, CpuTimes>()
  const sampling = sample(mark, times, over.signal)
  try {
    const result = await working
    over.abort()
    await sampling
    const sum = (of: keyof CpuTimes): number => [...times.values()].reduce((total, one) => total + one[of], 0)
    const shortage = {
      stalledMs: Math.round(monitor.max / nanosecondsPerMs),
      waited: sum('waited') / (sum('ran') || 1),
    }
    return { result, shortage }
  } finally {
    over.abort()
    monitor.disable()
  }
}

/** In words when it was more than times may be compared with: a stall of `stallMs`, or more waiting than half of the work. */
export function tooShort({ stalledMs, waited }: Shortage, stallMs: number): string | undefined {
  if (waited > tolerableWait) return `its processes waited ${waited.toFixed(1)} s for each second that they ran`
  return stalledMs > stallMs ? `the machine stood still for ${stalledMs} ms` : undefined
}

/** Nanoseconds of a main thread so far. */
interface CpuTimes {
  ran: number
  waited: number
}

async function sample(mark: string, times: Map<number, CpuTimes>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    for (const pid of processesWith(mark)) {
      const [ran, waited] = cpuTimesOf(pid)
      if (ran !== undefined && waited !== undefined) times.set(pid, { ran, waited })
    }
    await realClock.sleep(sampleMs, { signal }).catch(() => {})
  }
}

/** None of a process that is gone, or where the kernel does not count. */
function cpuTimesOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ').map(Number)
  } catch {
    return []
  }
}
