import type { RecordedLoad } from '../../shared/record/format.ts'
import type { Sample } from './request.ts'

/** The pod or Service whose requests a line counts. */
export type LineOf = Pick<RecordedLoad, 'target' | 'namespace' | 'uid' | 'service'>

/** Summarizes what clients saw as lines of a record, one for each interval of `eachMs` from `fromMs` on. */
export function intervalLines(
  samples: readonly Sample[],
  { fromMs, eachMs, of }: { fromMs: number; eachMs: number; of: LineOf },
): RecordedLoad[] {
  const lines = new Map<number, RecordedLoad>()
  for (const { startMs, endMs, outcome, kind } of samples) {
    const index = Math.floor((startMs - fromMs) / eachMs)
    const line = lines.get(index) ?? lineAt(fromMs + index * eachMs)
    line[outcome]++
    if (kind) line.losses = { ...line.losses, [kind]: (line.losses?.[kind] ?? 0) + 1 }
    if (outcome === 'answered') line.slowestMs = Math.max(line.slowestMs, Math.round(endMs - startMs))
    lines.set(index, line)
  }
  return [...lines].sort(([a], [b]) => a - b).map(([, line]) => line)

  function lineAt(atMs: number): RecordedLoad {
    const counts = { answered: 0, lost: 0, cut: 0, slowestMs: 0 }
    return { type: 'LOAD', at: new Date(atMs).toISOString(), seconds: eachMs / 1000, ...of, ...counts }
  }
}
