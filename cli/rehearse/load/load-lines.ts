import type { RecordedLoad } from '../../../shared/record/format.ts'
import { intervalLines } from '../../load/lines.ts'
import type { Sample } from '../../load/request.ts'

/** Spans one line, in milliseconds of the cluster. */
const intervalMs = 200
const mostLines = 500

export interface LoadTarget {
  /** `pod/web-1`. */
  target: string
  namespace: string
  /** Clients have heard that it ends: real ones send nothing later. */
  untilMs: number
}

/**
 * Summarizes what clients of one pod saw as lines of a record. The intervals grow where their number would exceed the
 * limit.
 */
export function loadLines(samples: readonly Sample[], { untilMs, ...of }: LoadTarget): RecordedLoad[] {
  const meant = samples.filter(({ startMs }) => startMs <= untilMs)
  const fromMs = meant.reduce((first, { startMs }) => Math.min(first, startMs), Number.POSITIVE_INFINITY)
  const lastMs = meant.reduce((last, { startMs }) => Math.max(last, startMs), fromMs)
  const eachMs = Math.max(intervalMs, Math.ceil((lastMs - fromMs + 1) / mostLines))
  return intervalLines(meant, { fromMs, eachMs, of })
}
