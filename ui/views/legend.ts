import { h, type JSX } from 'preact'
import { hatches } from './timeline/geometry.ts'

/** Explains the colours of bars: each entry has a class of the picture's style, and words. */
export const bars: readonly (readonly [string, string])[] = [
  ['Pending', 'Pending'],
  ['Running', 'Running, not ready'],
  ['Ready', 'Ready'],
  ['BackOff', 'crashed, waits to restart; or no image'],
  ['Terminating', 'Terminating'],
  ['hook', 'preStop hook'],
  ['wait', 'waits for containers'],
  ['term', 'after TERM'],
  ['kill', 'KILL'],
  ['grace', 'grace period'],
  ['answered', 'answered requests'],
  ['lost', 'lost requests'],
  ['band', 'node lost or not ready'],
]
export const letters: readonly (readonly [string, string])[] = [
  ['P', 'probe failed'],
  ['R', 'restart'],
  ['E', 'eviction'],
  ['C', 'eviction cancelled'],
  ['S', 'Service no longer offers it'],
  ['K', 'SIGKILL'],
  ['L', 'lost requests'],
  ['!', 'warning'],
]

export function Box(kind: string): JSX.Element[] {
  const place = { x: 1, y: 2, width: 16, height: 10, rx: 2 }
  const hatch = hatches[kind] ?? (kind === 'band' ? 'band' : undefined)
  const over = hatch ? [h('rect', { ...place, class: 'over', fill: `url(#hatch-${hatch})` })] : []
  return [h('rect', { class: kind, ...place }), ...over]
}
export const Mark = (letter: string): JSX.Element[] => [
  h('circle', { class: 'KL'.includes(letter) ? 'mark alarm' : 'mark', cx: 9, cy: 7, r: 6 }),
  h('text', { class: 'letter', x: 9, y: 10.5, 'text-anchor': 'middle' }, letter),
]

export function Legend(): JSX.Element {
  const box = (content: JSX.Element[]): JSX.Element =>
    h('svg', { class: 'ks', width: 18, height: 14, 'aria-hidden': 'true' }, content)
  return h('div', { class: 'legend' }, [
    ...bars.map(([kind, text]) => h('span', null, [box(Box(kind)), text])),
    ...letters.map(([letter, text]) => h('span', null, [box(Mark(letter)), text])),
    h('span', null, [box([h('line', { class: 'moment', x1: 9, x2: 9, y1: 0, y2: 14 })]), 'note, or a test failed']),
  ])
}
