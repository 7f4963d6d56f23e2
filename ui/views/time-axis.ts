import { scaleLinear, scaleUtc } from 'd3-scale'
import { h, type JSX } from 'preact'

/** The stretch of time that is shown. */
export interface TimeWindow {
  fromMs: number
  toMs: number
}

/** Where a time is on a picture: `left` of the first, `right` of the last moment. */
export interface TimeScale extends TimeWindow {
  left: number
  right: number
}

export const xOf = ({ fromMs, toMs, left, right }: TimeScale, ms: number): number =>
  left + ((ms - fromMs) / Math.max(toMs - fromMs, 1)) * (right - left)

/** Left and width of what lasts, cut at the picture's edges; undefined for what is outside. */
export function span(scale: TimeScale, startMs: number, endMs: number): { x: number; width: number } | undefined {
  if (endMs < scale.fromMs || startMs > scale.toMs) return undefined
  const x = Math.max(xOf(scale, startMs), scale.left)
  return { x, width: Math.max(Math.min(xOf(scale, endMs), scale.right) - x, 1.5) }
}

export interface Tick {
  x: number
  label: string
}
export function ticks(scale: TimeScale): Tick[] {
  const count = Math.max(2, Math.floor((scale.right - scale.left) / 110))
  const time = scaleUtc([new Date(scale.fromMs), new Date(scale.toMs)], [scale.left, scale.right])
  const format = time.tickFormat(count, scale.toMs - scale.fromMs > 5_000 ? '%H:%M:%S' : '%H:%M:%S.%L')
  const all = time.ticks(count).map((tick) => ({ x: Math.round(time(tick)), label: format(tick) }))
  // The library may make twice as many as it was asked for.
  const each = Math.max(1, Math.ceil(all.length / (count * 1.2)))
  return all.filter((_, index) => index % each === 0)
}

/** Ticks at round durations since `zeroMs`. */
export function durationTicks(scale: TimeScale, zeroMs: number): Tick[] {
  const count = Math.max(2, Math.floor((scale.right - scale.left) / 110))
  const durations = scaleLinear([0, Math.max(scale.toMs - zeroMs, 1)], [0, 1]).ticks(count)
  return durations
    .map((ms) => ({ x: Math.round(xOf(scale, zeroMs + ms)), label: words(ms) }))
    .filter(({ x }) => x < scale.right - 35)
}

/** Labels at `y`, and lines below it down to `bottom`. */
export function Axis({ scale, y, bottom }: { scale: TimeScale; y: number; bottom: number }): JSX.Element {
  const marks = ticks(scale).map(({ x, label }) =>
    h('g', { key: label }, [
      h('line', { class: 'grid', x1: x, x2: x, y1: y + 4, y2: bottom }),
      x < scale.right - 75 ? h('text', { class: 'soft', x: x + 3, y }, label) : null,
    ]),
  )
  return h('g', { 'aria-hidden': 'true' }, marks)
}

/** A duration as people say it. */
export function words(ms: number): string {
  const size = Math.abs(ms)
  if (size < 1_000) return `${Math.round(ms)} ms`
  if (size < 60_000) return `${(ms / 1_000).toFixed(size < 10_000 ? 2 : 1)} s`
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1_000)} s`
}

export const clockOf = (ms: number): string => (ms ? new Date(ms).toISOString().slice(11, 23) : '')
