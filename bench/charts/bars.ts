import { scaleLinear } from 'd3-scale'
import { h, type JSX } from 'preact'
import { renderToString } from 'preact-render-to-string'
import { pictureStyle } from '../../ui/views/picture-style.ts'

/** A figure as its table has it, and what it comes to. */
export interface Bar {
  text: string
  value: number
}

export interface BarRow {
  what: string
  unit: string
  /** Kubestage, and what it is compared with. */
  bars: readonly [Bar, Bar]
}

export interface BarChart {
  title: string
  /** Of the bars, in their order. */
  names: readonly [string, string]
  rows: readonly BarRow[]
}

const width = 760
const labelWidth = 280
const valueWidth = 80
const headHeight = 56
const rowHeight = 44
const barHeight = 14
const kinds = ['hook', 'term'] as const

/** An SVG file. Units differ, so each row has a scale of its own. */
export function barChart({ title, names, rows }: BarChart): string {
  const height = headHeight + Math.max(rows.length, 1) * rowHeight
  const size = { width, height, viewBox: `0 0 ${width} ${height}` }
  const root = { xmlns: 'http://www.w3.org/2000/svg', class: 'ks', role: 'img', 'aria-label': title, ...size }
  const parts = [
    h('style', null, pictureStyle),
    h('rect', { width, height, fill: 'var(--paper)' }),
    h('text', { class: 'strong', x: 8, y: 20 }, title),
    ...names.map((name, index) => legend(name, index)),
    h('text', { class: 'soft', x: 8, y: 40 }, 'each row has its own scale'),
    ...rows.map((row, index) => rowOf(row, headHeight + index * rowHeight)),
    rows.length === 0 ? h('text', { class: 'soft', x: 8, y: headHeight + 16 }, 'no figures yet') : null,
  ]
  return `${renderToString(h('svg', root, parts))}\n`
}

function legend(name: string, index: number): JSX.Element {
  const x = labelWidth + index * 130
  return h('g', null, [
    h('rect', { class: kinds[index], x, y: 31, width: 12, height: 10, rx: 2 }),
    h('text', { x: x + 18, y: 40 }, name),
  ])
}

function rowOf({ what, unit, bars }: BarRow, y: number): JSX.Element {
  const most = Math.max(...bars.map(({ value }) => value))
  const scale = scaleLinear([0, most], [0, width - labelWidth - valueWidth])
  return h('g', { 'data-row': what }, [
    h('line', { class: 'grid', x1: 8, x2: width - 8, y1: y, y2: y }),
    h('text', { class: 'strong', x: 8, y: y + 18 }, what),
    h('text', { class: 'soft', x: 8, y: y + 34 }, `${unit}, ${isRate(unit) ? 'more' : 'less'} is better`),
    ...bars.map(({ text, value }, index) => {
      const top = y + 6 + index * (barHeight + 3)
      const long = Math.max(Math.round(scale(value) * 10) / 10, 1.5)
      return [
        h('rect', { class: kinds[index], x: labelWidth, y: top, width: long, height: barHeight, rx: 2 }),
        h('text', { class: 'soft', x: labelWidth + long + 6, y: top + 11 }, text),
      ]
    }),
  ])
}

const isRate = (unit: string): boolean => unit.endsWith('/s')
