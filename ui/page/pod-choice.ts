import { h, type JSX } from 'preact'
import type { PodStory } from '../story/model.ts'
import type { Story } from '../story/story.ts'

interface PodChoiceProps {
  story: Story
  pod: PodStory
  select(pod: PodStory): void
  /** Offers only pods that have ended, and says how. */
  hasEnded: boolean
}

/** Bounds the list; the filter of the timeline finds the others. */
const mostPods = 500

/** Lets the user choose the pod that a view shows, among the latest ones and the current one. */
export function PodChoice({ story, pod, select, hasEnded }: PodChoiceProps): JSX.Element {
  const all = [...story.pods.values()].filter(({ deaths }) => !hasEnded || deaths.length > 0)
  const latest = all.slice(-mostPods)
  const shown = latest.includes(pod) ? latest : [pod, ...latest]
  const options = shown.map((each) => {
    const verdict = hasEnded ? each.deaths.at(-1)?.verdict : undefined
    return h('option', { key: each.uid, value: each.uid }, verdict ? `${each.name}: ${verdict}` : each.name)
  })
  const onChange = (event: Event): void => {
    const next = story.pods.get((event.currentTarget as HTMLSelectElement).value)
    if (next) select(next)
  }
  return h('div', { class: 'bar' }, h('select', { 'aria-label': 'Pod', value: pod.uid, onChange }, options))
}
