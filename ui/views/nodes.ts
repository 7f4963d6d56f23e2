import { h, type JSX } from 'preact'
import type { NodeStory } from '../story/model.ts'
import { dataTable } from './data-table.ts'
import { Axis, clockOf, span, type TimeScale, words } from './time-axis.ts'
import { markLetters, marksOf } from './timeline/geometry.ts'
import { shorten } from './timeline/shorten.ts'
import { scaleFor, type TimelineProps } from './timeline/timeline.ts'

type Props = Pick<TimelineProps, 'story' | 'window' | 'width' | 'nowMs'>

/** Draws a lane for each node, ready or lost, and below it each pressure and taint. */
function NodesPicture({ story, window, width, nowMs }: Props): JSX.Element {
  const scale = scaleFor(window, width)
  let y = 24
  const lanes = [...story.nodes.values()].slice(0, 500).map((node) => {
    const extras = [...kindsOf(node, 'pressures'), ...kindsOf(node, 'taints')]
    const top = y
    y += 24 + extras.length * 16
    return h('g', { key: node.name, 'data-node': node.name }, [
      h('text', { class: 'strong', x: 6, y: top + 14 }, shorten(node.name, scale.left - 12)),
      ...node.states.map((state) =>
        bar(state, scale, { kind: state.value, title: state.value, y: top + 3, height: 13, nowMs }),
      ),
      ...marksOf(node.marks, scale).map(({ x, kind, text }) =>
        h('g', null, [
          h('title', null, text),
          h('circle', { class: 'mark', cx: x, cy: top + 9.5, r: 6 }),
          h('text', { class: 'letter', x, y: top + 13, 'text-anchor': 'middle' }, markLetters[kind]),
        ]),
      ),
      ...extras.map(({ name, kind, intervals }, index) => [
        h('text', { class: 'soft', x: 14, y: top + 34 + index * 16 - 4 }, shorten(name, scale.left - 18)),
        ...intervals.map((each) => bar(each, scale, { kind, title: name, y: top + 22 + index * 16, height: 9, nowMs })),
      ]),
    ])
  })
  return h(
    'svg',
    {
      class: 'ks nodes',
      'data-from': window.fromMs,
      'data-to': window.toMs,
      'data-left': scale.left,
      'data-right': scale.right,
      width,
      height: y + 8,
      role: 'img',
      'aria-label': 'Nodes over time; the table says the same in words',
      xmlns: 'http://www.w3.org/2000/svg',
    },
    [h(Axis, { scale, y: 14, bottom: y }), ...lanes],
  )
}

function kindsOf(node: NodeStory, which: 'pressures' | 'taints') {
  const kind = which === 'taints' ? 'taint' : 'pressure'
  return [...node[which]]
    .filter(([, intervals]) => intervals.length)
    .map(([name, intervals]) => ({ name, kind, intervals }))
}

interface BarFacts {
  kind: string
  title: string
  y: number
  height: number
  nowMs: number
}
function bar(
  interval: { startMs: number; endMs?: number },
  scale: TimeScale,
  { kind, title, y, height, nowMs }: BarFacts,
): JSX.Element | null {
  const place = span(scale, interval.startMs, interval.endMs ?? Math.max(nowMs, interval.startMs))
  return place
    ? h('rect', { class: kind, 'data-bar': kind, ...place, y, height, rx: 2 }, h('title', null, title))
    : null
}

export function NodesView(props: Props): JSX.Element {
  const { story, nowMs } = props
  const nodes = [...story.nodes.values()]
  if (!nodes.length) return h('p', null, 'The record has no nodes.')
  const rows = nodes.slice(0, 500).map((node) => {
    const state = node.states.at(-1)
    const active = [...node.pressures, ...node.taints].filter(
      ([, intervals]) => intervals.at(-1) && intervals.at(-1)?.endMs === undefined,
    )
    const warning = node.marks.at(-1)
    return h('tr', { key: node.name }, [
      h('td', null, h('bdi', null, node.name)),
      h('td', null, node.goneMs === undefined ? (state?.value ?? 'unknown') : 'deleted'),
      h('td', { class: 'num' }, state ? words((state.endMs ?? nowMs) - state.startMs) : ''),
      h('td', null, active.map(([name]) => name).join(', ')),
      h('td', null, warning ? `${clockOf(warning.atMs)} ${warning.text}` : ''),
    ])
  })
  return h('section', null, [
    h('h2', null, 'Nodes'),
    h(NodesPicture, props),
    dataTable(['Node', 'State', 'For', 'Pressure and taints', 'Last warning'], rows),
  ])
}
