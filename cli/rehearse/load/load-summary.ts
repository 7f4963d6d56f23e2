import type { Sample } from '../../load/request.ts'

export interface LoadSummary {
  sent: number
  lost: number
  cut: number
  /** Counts the seconds of the slowest answer. */
  slowestSeconds: number
  /** Counts the seconds that the pod should have served longer; only with lost requests. */
  missingSeconds?: number
}

/**
 * Others send requests to a pod until they have heard that it ends, `endpointDelayMs` after it began to.
 * Real clients send none later.
 */
export function summarize(
  samples: readonly Sample[],
  { stopBeganMs, endpointDelayMs }: { stopBeganMs: number; endpointDelayMs: number },
): LoadSummary {
  const endpointGoneMs = stopBeganMs + endpointDelayMs
  const meant = samples.filter(({ startMs }) => startMs <= endpointGoneMs)
  const atEnd = meant.filter(({ endMs }) => endMs >= stopBeganMs)
  const lost = atEnd.filter(({ outcome }) => outcome === 'lost')
  const answered = meant.filter(({ outcome }) => outcome === 'answered')
  const firstLossMs = Math.min(...lost.map(({ startMs }) => startMs))
  return {
    sent: meant.length,
    lost: lost.length,
    slowestSeconds: Math.max(0, ...answered.map(({ startMs, endMs }) => endMs - startMs)) / 1000,
    cut: atEnd.filter(({ outcome }) => outcome === 'cut').length,
    ...(lost.length > 0 && { missingSeconds: (endpointGoneMs - firstLossMs) / 1000 }),
  }
}
