import { h, type JSX } from 'preact'
import type { RecordedLoad } from '../../../../shared/record/format.ts'
import type { Death, Load, PodStory } from '../../../../ui/story/model.ts'
import { msOf } from '../../../../ui/story/text.ts'
import { deathScale } from '../../../../ui/views/death.ts'
import { loadStrip } from '../../../../ui/views/load-strip.ts'
import { loadBars } from '../../../../ui/views/timeline/geometry.ts'

const height = 44

/**
 * Draws answered and lost requests on the time axis of the picture of the death below. Returns null without requests.
 */
export function Requests({ pod, death, width, loads }: RequestsProps): JSX.Element | null {
  const bars = loadBars(loads, deathScale(pod, death, width, endOf(loads)))
  if (bars.length === 0) return null
  const size = { width, height, role: 'img', 'aria-label': 'Requests answered and lost' }
  return h('svg', { class: 'ks death', ...size }, [
    h('text', { class: 'strong', x: 4, y: 30 }, 'requests'),
    ...loadStrip(bars, height - 4, height - 8),
  ])
}

/** Returns the end of the last interval with requests; undefined if there were none. */
export const endOf = (loads: readonly Load[]): number | undefined => loads.at(-1)?.endMs

interface RequestsProps {
  pod: PodStory
  death: Death
  width: number
  loads: readonly Load[]
}

export function loadOf({ at, seconds, ...load }: RecordedLoad): Load {
  const startMs = msOf(at) ?? 0
  return { ...load, startMs, endMs: startMs + seconds * 1000 }
}
