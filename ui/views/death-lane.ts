import { h, type JSX } from 'preact'
import type { ContainerDeath, Segment } from '../story/model.ts'
import { type Label, placeLabels } from './labels.ts'
import { span, type TimeScale, words, xOf } from './time-axis.ts'
import { shorten } from './timeline/shorten.ts'

export const laneHeight = 60
const barTop = 18
const barHeight = 18

/** Labels nearer to each other than this are hard to tell apart. */
const apart = 80

interface DeathLaneProps {
  container: ContainerDeath
  /** Description of the container's hook. */
  hook: string
  y: number
  scale: TimeScale
}

/** Shows how one container stopped: its hook is named above its bar, signals and exit code below. */
export function DeathLane({ container, hook, y, scale }: DeathLaneProps): JSX.Element {
  const { name, segments } = container
  return h('g', { 'data-container': name }, [
    h('text', { class: 'strong', x: 4, y: y + barTop + 13 }, shorten(name, scale.left - 10)),
    ...segments.map((segment) => segmentBar(segment, scale, y + barTop)),
    ...segments.map((segment) => nameAbove(segment, hook, scale, y + barTop - 4)),
    ...placeLabels(labelsBelow(container, scale), 1, { ...scale, left: 0 }, 0).map(({ text, textX, anchor }) =>
      h('text', { class: 'soft', x: textX, y: y + barTop + barHeight + 14, 'text-anchor': anchor }, text),
    ),
  ])
}

function segmentBar({ kind, name, startMs, endMs }: Segment, scale: TimeScale, y: number): JSX.Element | null {
  const place = span(scale, startMs, endMs)
  const title = h('title', null, `${name}: ${words(endMs - startMs)}`)
  return place ? h('rect', { class: kind, 'data-bar': kind, ...place, y, height: barHeight, rx: 2 }, title) : null
}

function nameAbove({ kind, name, startMs }: Segment, hook: string, scale: TimeScale, y: number): JSX.Element | null {
  if (kind !== 'hook' && kind !== 'wait') return null
  const x = Math.max(xOf(scale, startMs), scale.left)
  const text = kind === 'hook' ? `preStop${hook && `: ${hook}`}` : name
  return h('text', { class: 'code', x, y }, shorten(text, scale.right - x))
}

const outcomes: Record<string, string> = {
  Default: ', which it does not handle',
  Ignored: ', which it ignores',
}

function labelsBelow({ segments, exitCode }: ContainerDeath, scale: TimeScale): Label[] {
  const exit = exitCode === undefined ? 'ended' : `exit code ${exitCode}`
  const end: Label = { x: xOf(scale, segments.at(-1)?.endMs ?? scale.toMs), text: exit }
  const signals = segments
    .filter(({ kind }) => kind === 'term' || kind === 'kill')
    .map(({ name, outcome, startMs }) => ({ x: xOf(scale, startMs), text: `${name}${outcomes[outcome] ?? ''}` }))
  const last = signals.at(-1)
  if (!last || end.x - last.x > apart) return [...signals, end]
  return [...signals.slice(0, -1), { ...last, text: `${last.text}, ${exit}` }]
}
