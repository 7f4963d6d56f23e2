import { type Ending, endingOf } from '../../story/ending.ts'
import type { PodStory } from '../../story/model.ts'
import { type TimeScale, xOf } from '../time-axis.ts'

/** Describes the text beside the end of a pod's bar, which says how the pod ended. */
export interface Chip extends Ending {
  x: number
  width: number
}

/** Estimated width of a letter, rather too wide than too narrow: pictures are drawn without a browser that measures. */
const letterWidth = 6.3
const padding = 5
export const chipHeight = 15
/** Width of a letter's circle, and a gap. */
const around = 9

/**
 * Right of the end of the pod where there is room; on its bar if it ended badly. Fewer words where all have no room;
 * none where they would cover a letter. `marks`: places of letters.
 */
export function chipOf(
  pod: PodStory,
  scale: TimeScale,
  nowMs: number,
  marks: readonly { x: number }[],
): Chip | undefined {
  const ending = endingOf(pod)
  if (!ending) return undefined
  const endMs = pod.goneMs ?? pod.phases.at(-1)?.endMs ?? Math.min(nowMs, scale.toMs)
  if (endMs < scale.fromMs || endMs > scale.toMs) return undefined
  const endX = Math.max(xOf(scale, endMs), scale.left)
  for (const text of shorter(ending.text)) {
    const width = Math.ceil(text.length * letterWidth) + 2 * padding
    const x = placeOf(width, { endX, scale, marks, mayCover: ending.isBad })
    if (x !== undefined) return { ...ending, text, x, width }
  }
  return undefined
}

/** Returns the text, and then shorter ones with one part less from the end each time. */
const shorter = (text: string): string[] => {
  const parts = text.split(' · ')
  return parts.map((_, index) => parts.slice(0, parts.length - index).join(' · '))
}

interface Place {
  endX: number
  scale: TimeScale
  marks: readonly { x: number }[]
  /** The text may stand on the bar. */
  mayCover: boolean
}

function placeOf(width: number, { endX, scale, marks, mayCover }: Place): number | undefined {
  const atEnd = marks.filter(({ x }) => x > endX - around)
  const right = Math.max(endX + 4, ...atEnd.map(({ x }) => x + around))
  if (right + width <= scale.right) return right
  if (!mayCover) return undefined
  const left = Math.min(endX - 4, scale.right, ...atEnd.map(({ x }) => x - around)) - width
  const isFree = marks.every(({ x }) => x < left - around || x > left + width + around - 1)
  return left >= scale.left && isFree ? left : undefined
}
