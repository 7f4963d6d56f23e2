import type { Story } from '../story/story.ts'
import type { TimeWindow } from './time-axis.ts'

/** From the first to the last moment of a story, and a little more. */
export const wholeOf = ({ startMs, endMs, pods }: Story): TimeWindow => {
  let fromMs = startMs
  // What was there before the record began is shown a little, and not from its birth.
  for (const { phases } of pods.values())
    fromMs = Math.min(fromMs, Math.max(phases[0]?.startMs ?? startMs, startMs - 5_000))
  const toMs = Math.max(endMs, fromMs + 1_000)
  return { fromMs, toMs: toMs + (toMs - fromMs) / 100 }
}
