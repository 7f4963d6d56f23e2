import type { Budget } from './attack.ts'
import type { Sighting } from './bystander-worker.ts'
import type { Usage } from './server.ts'

/** Of CPU time, between two requests of a bystander. */
const betweenMs = 10

export interface Measured {
  bytes: number
  requests: number
  before: Usage
  after: Usage
  /** When all is over and thrown away. */
  collected: Usage
  during: Sighting
  afterwards: Sighting
  /** CPU time of the server for a request of the bystander. */
  bystanderCpuMs: number
}

export interface Verdict {
  what: string
  value: number
  limit: number
}

/** Of every attack: for what it takes to look at it at all, and garbage of the one before. */
const freeCpuMs = 60
const recoveredWaitMs = 50
const recoveredMb = 24
const mb = 1024 * 1024

/** How an attack went, against its budget; each value must be at most its limit. */
export function verdicts(measured: Measured, budget: Budget): Verdict[] {
  const { bytes, requests, before, after, collected, during, afterwards, bystanderCpuMs } = measured
  const cpuMs = after.cpuMs - before.cpuMs - during.waits.length * bystanderCpuMs
  return [
    {
      what: `ms of CPU time for ${bytes} bytes and ${requests} requests`,
      value: cpuMs,
      limit: freeCpuMs + (bytes * budget.nsPerByte) / 1e6 + requests * budget.msPerRequest,
    },
    { what: 'ms of CPU time that a bystander waits for (p99)', value: p99(during.waits), limit: budget.bystanderMs },
    { what: 'MB of memory more', value: (during.mostRssBytes - before.rssBytes) / mb, limit: budget.rssMb },
    { what: 'MB held afterwards', value: (collected.heldBytes - before.heldBytes) / mb, limit: recoveredMb },
    {
      what: 'ms of CPU time that a bystander waits for afterwards',
      value: p99(afterwards.waits),
      limit: recoveredWaitMs,
    },
  ]
}

/**
 * Of 100 requests at any time, 99 wait for no more. One that waits long stands for all that would have come meanwhile, had the
 * bystander not waited for it.
 */
export function p99(waits: readonly number[]): number {
  const sorted = waits.flatMap(withThoseBehind).toSorted((a, b) => a - b)
  return sorted[Math.floor((sorted.length - 1) * 0.99)] ?? 0
}

const withThoseBehind = (wait: number): number[] =>
  Array.from({ length: Math.max(1, Math.ceil(wait / betweenMs)) }, (_, index) => wait - index * betweenMs)
