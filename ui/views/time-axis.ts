import { scaleLinear, scaleUtc } from 'd3-scale'
import { h, type JSX } from 'preact'

/** The range of time that is shown. */
export interface TimeWindow {
  fromMs: number
  toMs: number
}

/** Maps time to a picture: `left` is the position of the first moment, `right` of the last. */
export interface TimeScale extends TimeWindow {
  left: number
  right: number
}

export const xOf = ({ fromMs, toMs, left, right }: TimeScale, ms: number): number =>
  left + ((ms - fromMs) / Math.max(toMs - fromMs, 1)) * (right - left)

/** Returns left and width of a range of time, cut at the picture's edges; undefined if it lies outside. */
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

/** Returns ticks at round durations since `zeroMs`. */
export function durationTicks(scale: TimeScale, zeroMs: number): Tick[] {
  const count = Math.max(2, Math.floor((scale.right - scale.left) / 110))
  const durations = scaleLinear([0, Math.max(scale.toMs - zeroMs, 1)], [0, 1]).ticks(count)
  return durations
    .map((ms) => ({ x: Math.round(xOf(scale, zeroMs + ms)), label: words(ms) }))
    .filter(({ x }) => x < scale.right - 35)
}

const labelRoom = 75

/** Draws labels at `y`, and lines below them down to `bottom`. */
export function Axis({ scale, y, bottom }: { scale: TimeScale; y: number; bottom: number }): JSX.Element {
  const all = ticks(scale)
  const marks = all.map(({ x, label }, index) => {
    // The last label is left of its line where it has no room at its right.
    const isRight = x < scale.right - labelRoom
    const isFree = isRight || x - (all[index - 1]?.x ?? scale.left - labelRoom) > 2 * labelRoom
    const place = isRight ? { x: x + 3, y } : { x: x - 3, y, 'text-anchor': 'end' as const }
    return h('g', { key: label }, [
      h('line', { class: 'grid', x1: x, x2: x, y1: y + 4, y2: bottom }),
      isFree ? h('text', { class: 'soft', ...place }, label) : null,
    ])
  })
  return h('g', { 'aria-hidden': 'true' }, marks)
}

/** Formats a duration for people. */
export function words(ms: number): string {
  if (ms < 0) return `−${words(-ms)}`
  if (ms < 999.5) return `${Math.round(ms)} ms`
  if (ms < 9_995) return `${(ms / 1_000).toFixed(2)} s`
  if (ms < 59_950) return `${(ms / 1_000).toFixed(1)} s`
  const seconds = Math.round(ms / 1_000)
  const [minutes, hours] = [Math.floor(seconds / 60), Math.floor(seconds / 3_600)]
  return hours ? `${hours} h ${minutes % 60} min` : `${minutes} min ${seconds % 60} s`
}

/** Formats a time relative to a beginning: `+1.20 s`, `−2 min 3 s`. */
export const offset = (ms: number): string => (ms < 0 ? words(ms) : `+${words(ms)}`)

export const clockOf = (ms: number): string => (ms ? new Date(ms).toISOString().slice(11, 23) : '')
