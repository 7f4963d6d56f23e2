import type { PodStory } from '../story/model.ts'
import type { Story } from '../story/story.ts'
import type { TimeWindow } from './time-axis.ts'

/** Objects that existed before the record began are shown from this much earlier. */
const beforeMs = 5_000
/** The ends of pods that are known only from a Termination are shown from this much earlier. */
const endsBeforeMs = 15 * 60_000

/** Returns the time from the first to the last moment of a story, and a little more. */
export const wholeOf = ({ startMs, endMs, pods }: Story): TimeWindow => {
  let fromMs = startMs
  for (const pod of pods.values()) {
    const bornMs = pod.phases[0]?.startMs ?? startMs
    const leastMs = isTermination(pod) ? bornMs : startMs - beforeMs
    if ((pod.goneMs ?? startMs) >= startMs - endsBeforeMs) fromMs = Math.min(fromMs, Math.max(bornMs, leastMs))
  }
  const toMs = Math.max(endMs, fromMs + 1_000)
  return { fromMs, toMs: toMs + (toMs - fromMs) / 100 }
}

/** Returns whether the pod's object was never seen. */
const isTermination = ({ object }: PodStory): boolean => object === undefined
