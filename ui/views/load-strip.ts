import { h, type JSX } from 'preact'
import type { LoadBar } from './timeline/geometry.ts'

/** Draws requests as bars that stand on `bottom`: answered ones, and lost ones above them. */
export const loadStrip = (bars: readonly LoadBar[], bottom: number, height: number): JSX.Element[] =>
  bars.flatMap(({ x, width, answered, lost }) => [
    h('rect', { class: 'answered', x, y: bottom - answered * height, width, height: answered * height }),
    ...(lost ? [lostBar(x, width, bottom - (answered + lost) * height, Math.max(lost * height, 3))] : []),
  ])

const lostBar = (x: number, width: number, y: number, height: number): JSX.Element =>
  h('rect', { class: 'lost', 'data-bar': 'lost', x, y, width, height })
