import type { RecordedLoad } from '../../shared/record/format.ts'
import type { Sample } from './load-summary.ts'

/** Of one line, in milliseconds of the cluster. */
const intervalMs = 200
const mostLines = 500

export interface LoadTarget {
  /** `pod/web-1`. */
  target: string
  namespace: string
  /** Clients have heard that it ends: real ones send nothing later. */
  untilMs: number
}

/** What clients saw, interval by interval, as lines of a record; longer intervals where there would be too many. */
export function loadLines(samples: readonly Sample[], { target, namespace, untilMs }: LoadTarget): RecordedLoad[] {
  const meant = samples.filter(({ startMs }) => startMs <= untilMs)
  const fromMs = meant.reduce((first, { startMs }) => Math.min(first, startMs), Number.POSITIVE_INFINITY)
  const lastMs = meant.reduce((last, { startMs }) => Math.max(last, startMs), fromMs)
  const eachMs = Math.max(intervalMs, Math.ceil((lastMs - fromMs + 1) / mostLines))
  const lines = new Map<number, RecordedLoad>()
  for (const { startMs, endMs, outcome } of meant) {
    const index = Math.floor((startMs - fromMs) / eachMs)
    const line = lines.get(index) ?? lineAt(fromMs + index * eachMs)
    line[outcome]++
    if (outcome === 'answered') line.slowestMs = Math.max(line.slowestMs, Math.round(endMs - startMs))
    lines.set(index, line)
  }
  return [...lines].sort(([a], [b]) => a - b).map(([, line]) => line)

  function lineAt(atMs: number): RecordedLoad {
    const counts = { answered: 0, lost: 0, cut: 0, slowestMs: 0 }
    return { type: 'LOAD', at: new Date(atMs).toISOString(), seconds: eachMs / 1000, target, namespace, ...counts }
  }
}
