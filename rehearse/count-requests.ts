import type { Termination } from '../shared/api/termination.ts'
import type { Sample } from './load.ts'

/** Requests that were sent while the pod died and clients had yet to learn of it. */
export interface LoadResult {
  sent: number
  lost: number
  /** From the beginning of the end to the first lost one, and to the moment when clients know. */
  firstLostMs?: number
  learntMs: number
}

/**
 * Counts the requests of those clients who do not know yet. Hooks take the cluster's time, which may run faster;
 * what the program does from its TERM on takes the machine's.
 */
export function countRequests(
  samples: readonly Sample[],
  { startTime, containers = [] }: Pick<Termination, 'startTime' | 'containers'>,
  { scale, learntMs }: { scale: number; learntMs: number },
): LoadResult {
  const startMs = Date.parse(startTime ?? '')
  const signals = containers.flatMap(({ steps }) => steps.filter(({ name }) => name.startsWith('SIG')))
  const termMs = Math.min(...signals.map((signal) => Date.parse(signal.startTime)))
  const sinceStart = (atMs: number): number =>
    atMs <= termMs ? atMs - startMs : termMs - startMs + (atMs - termMs) / scale
  const counted = samples
    .map(({ atMs, isGood }) => ({ afterMs: sinceStart(atMs), isGood }))
    .filter(({ afterMs }) => afterMs >= 0 && afterMs <= learntMs)
  const lost = counted.filter(({ isGood }) => !isGood)
  return { sent: counted.length, lost: lost.length, firstLostMs: lost[0]?.afterMs, learntMs }
}
