import { h, type JSX } from 'preact'
import type { PodStory } from '../../story/model.ts'
import type { Story } from '../../story/story.ts'
import { loadStrip } from '../load-strip.ts'
import { Axis, type TimeScale, type TimeWindow, xOf } from '../time-axis.ts'
import { loadBars, marksOf, type Row, rowHeight } from './geometry.ts'
import { Lane } from './lane.ts'
import { shorten } from './shorten.ts'

export interface TimelineProps {
  story: Story
  rows: readonly Row[]
  window: TimeWindow
  width: number
  nowMs: number
  selectedUid?: string
  onSelect?(pod: PodStory): void
}

export const labelWidth = (width: number): number => Math.round(Math.min(280, width * 0.32))
export const scaleFor = (window: TimeWindow, width: number): TimeScale => ({
  ...{ ...window, left: labelWidth(width), right: width - 8 },
})
/** Draws lanes as SVG, for as many pods as a person reads. */
export function Timeline({ story, rows, window, width, nowMs, selectedUid, onSelect }: TimelineProps): JSX.Element {
  const scale = scaleFor(window, width)
  const height = rows.length * rowHeight
  const lanes = rows.map((row, index) =>
    row.pod
      ? Lane({
          row,
          pod: row.pod,
          top: index * rowHeight,
          scale,
          width,
          nowMs,
          isSelected: selectedUid === row.key,
          isNodeNamed: rows[index - 1]?.pod !== undefined && rows[index - 1]?.node === row.node,
          onSelect,
        })
      : Heading(row, index * rowHeight, width),
  )
  const moments = marksOf(story.moments, scale).map(({ x, text }) =>
    h('line', { class: 'moment', x1: x, x2: x, y1: 0, y2: height }, h('title', null, text)),
  )
  const label = `Timeline of ${rows.length} lanes; the table of pods says the same in words`
  const data = {
    'data-from': window.fromMs,
    'data-to': window.toMs,
    'data-left': scale.left,
    'data-right': scale.right,
  }
  const props = {
    class: 'ks timeline',
    width,
    height: Math.max(height, rowHeight),
    role: 'img',
    'aria-label': label,
    ...data,
  }
  return h('svg', { ...props, xmlns: 'http://www.w3.org/2000/svg' }, [
    h(Axis, { scale, y: -20, bottom: height }),
    ...lanes,
    ...moments,
  ])
}

/** Defines stripes over bars: light ones on calm colours, dark ones on alarming colours, and those of a lost node. */
const stripes: readonly (readonly [string, string, number])[] = [
  ['light', 'var(--paper)', 0.55],
  ['dark', 'var(--ink)', 0.5],
  ['band', 'var(--kill)', 0.4],
]
const hatchPatterns = (): JSX.Element[] =>
  stripes.map(([name, fill, opacity]) =>
    h(
      'pattern',
      { id: `hatch-${name}`, width: 6, height: 6, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)' },
      h('rect', { width: 2, height: 6, fill, opacity }),
    ),
  )

const strongLetter = 7.4
/** Returns where the note of a heading begins. */
export const noteX = ({ label }: Row): number => 6 + label.length * strongLetter + 10
/** Says whether a heading has a note, and room for a part of it. */
export const hasNote = (row: Row, width: number): boolean => !!row.note && width - noteX(row) > 80

const Heading = (row: Row, top: number, width: number): JSX.Element =>
  h('g', { key: row.key }, [
    h('rect', { class: 'group', x: 0, y: top, width, height: rowHeight }),
    h('text', { class: 'strong', x: 6, y: top + 15 }, shorten(row.label, width - 12)),
    hasNote(row, width)
      ? h('text', { class: 'soft', x: noteX(row), y: top + 15 }, shorten(row.note ?? '', width - noteX(row)))
      : null,
  ])

/** Draws the axis and the strip of requests above the lanes. */
export function TimelineHead({ story, window, width }: Pick<TimelineProps, 'story' | 'window' | 'width'>): JSX.Element {
  const scale = scaleFor(window, width)
  const bars = loadBars(story.loads, scale)
  const height = bars.length ? 62 : 22
  const title = 'Time, and requests answered and lost'
  return h(
    'svg',
    { class: 'ks', width, height, role: 'img', 'aria-label': title, xmlns: 'http://www.w3.org/2000/svg' },
    [
      h('defs', null, hatchPatterns()),
      h(Axis, { scale, y: 14, bottom: height }),
      h('text', { class: 'soft', x: 6, y: 14 }, 'UTC'),
      bars.length ? h('text', { class: 'soft', x: 6, y: 46 }, 'requests') : null,
      ...loadStrip(bars, 60, 34),
    ],
  )
}

/** Draws the whole record as one strip: how many pods were ready, and which part is shown. */
export function Overview({
  story,
  window,
  width,
  whole,
}: Pick<TimelineProps, 'story' | 'window' | 'width'> & { whole: TimeWindow }): JSX.Element {
  const height = 34
  const scale = { ...whole, left: labelWidth(width), right: width - 8 }
  const counts = densities(story, whole)
  const most = Math.max(1, ...counts)
  const step = (scale.right - scale.left) / counts.length
  const points = counts.map(
    (count, index) =>
      `${(scale.left + index * step).toFixed(1)},${(height - (count / most) * (height - 4)).toFixed(1)}`,
  )
  const x = Math.max(xOf(scale, window.fromMs), scale.left)
  const label = `Pods that were ready, at most ${most}; drag to choose a stretch of time`
  return h('svg', { class: 'ks overview', width, height, role: 'img', 'aria-label': label }, [
    h('text', { class: 'soft', x: 6, y: 20 }, 'whole record'),
    h('polygon', {
      class: 'Ready',
      opacity: 0.55,
      points: `${scale.left},${height} ${points.join(' ')} ${scale.right},${height}`,
    }),
    h('rect', {
      class: 'selected',
      x,
      y: 0,
      width: Math.max(Math.min(xOf(scale, window.toMs), scale.right) - x, 3),
      height,
    }),
  ])
}

const buckets = 200
/** Counts the ready pods in each bucket of the time. */
function densities(story: Story, { fromMs, toMs }: TimeWindow): number[] {
  const changes = new Array<number>(buckets + 1).fill(0)
  const bucketOf = (ms: number): number =>
    Math.min(buckets, Math.max(0, Math.floor(((ms - fromMs) / Math.max(toMs - fromMs, 1)) * buckets)))
  for (const { phases } of story.pods.values())
    for (const { value, startMs, endMs } of phases) {
      if (value !== 'Ready') continue
      changes[bucketOf(startMs)]!++
      if (endMs !== undefined) changes[bucketOf(endMs)]!--
    }
  let count = 0
  return changes.slice(0, buckets).map((change) => (count += change))
}
