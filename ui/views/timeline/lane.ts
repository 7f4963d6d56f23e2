import { h, type JSX } from 'preact'
import { allMarks } from '../../story/losses.ts'
import type { PodStory } from '../../story/model.ts'
import type { TimeScale } from '../time-axis.ts'
import { type Chip, chipHeight, chipOf } from './chip.ts'
import {
  type Band,
  type Bar,
  bandsOf,
  barHeight,
  barsOf,
  graceOf,
  hatches,
  isAlarm,
  labelLetter,
  lossesOf,
  markLetters,
  marksOf,
  type PlacedMark,
  type Row,
  rowHeight,
} from './geometry.ts'
import { shorten } from './shorten.ts'

export interface LaneProps {
  row: Row
  pod: PodStory
  top: number
  scale: TimeScale
  width: number
  nowMs: number
  isSelected: boolean
  /** The lane above belongs to the same node, and names it. */
  isNodeNamed: boolean
  onSelect?(pod: PodStory): void
}

/** Shows a pod: its phases, its end, and how it ended. */
export function Lane(props: LaneProps): JSX.Element {
  const { row, pod, top, scale, width, nowMs, isSelected, isNodeNamed, onSelect } = props
  const y = top + (rowHeight - barHeight) / 2
  const grace = graceOf(pod, scale)
  const marks = marksOf(allMarks(pod, row.losses), scale)
  const chip = chipOf(pod, scale, nowMs, marks)
  const address = addressOf(pod, scale)
  const frame = { x: 0, y: top, width, height: rowHeight }
  return h('g', { key: row.key, class: 'row', 'data-pod': pod.name, onClick: onSelect && (() => onSelect(pod)) }, [
    h('rect', { ...frame, ...(isSelected ? { class: 'selected' } : { fill: 'transparent' }) }),
    h('text', { x: 14, y: top + 15 }, [h('title', null, pod.name), shorten(row.label, nameWidth(pod, scale))]),
    address ? h('text', { class: 'soft', x: scale.left - 6, y: top + 15, 'text-anchor': 'end' }, address) : null,
    ...barsOf(pod, scale, nowMs).flatMap((bar) => barOf(bar, pod, y)),
    ...bandsOf(row, scale, nowMs).map((band) => bandOf(band, top, isNodeNamed ? undefined : marks)),
    grace && h('rect', { class: 'grace', 'data-bar': 'grace', ...grace, y: y - 2.5, height: barHeight + 5, rx: 3 }),
    ...lossesOf(row, scale).map(({ x, width, title }) =>
      h(
        'rect',
        { class: 'lost', 'data-bar': 'lost', x, width, y: top + rowHeight - 4, height: 4 },
        h('title', null, title),
      ),
    ),
    chip && chipBox(chip, top),
    ...marks.map((mark) => letterOf(mark, top)),
  ])
}

/** A label that is narrower than this has room for the name alone. */
const leastForAddress = 200

/** Returns the address that stands beside the pod's name; empty where there is no room. */
export const addressOf = ({ ip }: PodStory, { left }: TimeScale): string => (left < leastForAddress ? '' : ip)

/** Returns the room for a pod's name beside its address. */
export function nameWidth(pod: PodStory, scale: TimeScale): number {
  const { length } = addressOf(pod, scale)
  return scale.left - 24 - (length > 0 ? length * labelLetter + 4 : 0)
}

function barOf({ kind, x, width, part, title }: Bar, pod: PodStory, y: number): (JSX.Element | null)[] {
  const [barY, height] = part === 'whole' ? [y, barHeight] : [y + 3, barHeight - 6]
  const place = { x, y: barY, width, height, rx: Math.min(2, width / 2) }
  const hatch = hatches[kind]
  return [
    h('rect', { ...place, class: kind, 'data-bar': kind }, h('title', null, `${pod.name}: ${title}`)),
    hatch ? h('rect', { ...place, class: 'over', fill: `url(#hatch-${hatch})` }) : null,
  ]
}

/** `marks` are letters that the band's name must not cover; undefined: the band has no name. */
function bandOf({ x, width, title }: Band, top: number, marks: readonly PlacedMark[] | undefined): JSX.Element {
  const place = { x, y: top, width, height: rowHeight }
  const textX = x + 6
  const endX = textX + title.length * 6.3
  const fits = marks && endX < x + width && !marks.some((mark) => mark.x > textX - 8 && mark.x < endX + 8)
  return h('g', { 'data-bar': 'band' }, [
    h('title', null, title),
    h('rect', { ...place, class: 'band' }),
    h('rect', { ...place, fill: 'url(#hatch-band)' }),
    fits ? h('text', { class: 'band-name', x: textX, y: top + 15 }, title) : null,
  ])
}

const chipBox = ({ text, x, width, isBad }: Chip, top: number): JSX.Element =>
  h('g', { class: isBad ? 'chip bad' : 'chip', 'data-chip': text }, [
    h('rect', { x, y: top + (rowHeight - chipHeight) / 2, width, height: chipHeight, rx: 4 }),
    h('text', { x: x + width / 2, y: top + 15, 'text-anchor': 'middle' }, text),
  ])

const letterOf = ({ kind, x, text }: PlacedMark, top: number): JSX.Element =>
  h('g', { 'data-mark': kind }, [
    h('title', null, text),
    h('circle', { class: isAlarm(kind) ? 'mark alarm' : 'mark', cx: x, cy: top + 11, r: 6 }),
    h('text', { x, y: top + 14.5, 'text-anchor': 'middle', class: 'letter' }, markLetters[kind]),
  ])
