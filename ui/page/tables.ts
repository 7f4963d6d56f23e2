import { h, type JSX } from 'preact'
import { useState } from 'preact/hooks'
import { lostCount } from '../story/losses.ts'
import type { Mark, PodStory } from '../story/model.ts'
import type { Story } from '../story/story.ts'
import { dataTable } from '../views/data-table.ts'
import { clockOf, offset } from '../views/time-axis.ts'
import type { Row } from '../views/timeline/geometry.ts'

const page = 100

/** Columns that only a wide page has; the pane of a pod says the same. */
const wide: ReadonlySet<string> = new Set(['Address', 'Images', 'Lost requests'])

interface Props {
  rows: readonly Row[]
  onSelect(pod: PodStory): void
}

export function PodTable({ rows, onSelect }: Props): JSX.Element {
  const [count, setCount] = useState(page)
  const pods = rows.flatMap(({ pod, losses }) => (pod ? [{ pod, losses }] : []))
  const heads = ['Pod', 'State', 'Since', 'Node', 'Address', 'Images', 'Lost requests', 'How it ended']
  const shown = pods.slice(0, count).map(({ pod, losses }) => {
    const last = pod.phases.at(-1)
    const state = pod.goneMs === undefined ? (last?.value ?? '') : `gone${pod.endPhase ? `, ${pod.endPhase}` : ''}`
    return h('tr', { key: pod.uid }, [
      h('td', null, h('button', { class: 'link', onClick: () => onSelect(pod) }, h('bdi', null, pod.name))),
      h('td', null, state),
      h('td', { class: 'num' }, clockOf(pod.goneMs ?? last?.startMs ?? 0)),
      h('td', null, pod.node),
      h('td', { class: 'wide' }, pod.ip),
      h('td', { class: 'wide' }, h('bdi', null, pod.images.join(', '))),
      h('td', { class: 'num wide' }, lostCount(pod, losses) || ''),
      h('td', null, pod.deaths.at(-1)?.verdict ?? ''),
    ])
  })
  return h('section', { 'aria-label': 'Pods' }, [
    h('h2', null, `Pods (${pods.length})`),
    dataTable(heads, shown, wide),
    pods.length > count
      ? h('button', { onClick: () => setCount(count + page) }, `Show ${Math.min(page, pods.length - count)} more`)
      : null,
  ])
}

export interface Happening extends Mark {
  pod?: PodStory
}

/** Shows the marks of all visible pods, of nodes and of people, sorted by time. */
export function happeningsOf(story: Story, rows: readonly Row[]): Happening[] {
  const pods = rows.flatMap(({ pod }) =>
    pod ? [...pod.marks, ...deathMarks(pod)].map((mark) => ({ ...mark, pod })) : [],
  )
  const nodes = [...story.nodes.values()].flatMap(({ marks }) => marks)
  return [...pods, ...nodes, ...story.moments].sort((a, b) => a.atMs - b.atMs)
}

const deathMarks = ({ deaths }: PodStory): Mark[] =>
  deaths.map(({ startMs, verdict }) => ({ kind: 'note', atMs: startMs, text: `stops: ${verdict}` }))

export function HappeningList({
  happenings,
  startMs,
  onJump,
}: {
  happenings: readonly Happening[]
  startMs: number
  onJump(happening: Happening): void
}): JSX.Element {
  const shown = happenings.slice(-page)
  return h('section', { 'aria-label': 'Events' }, [
    h(
      'h2',
      null,
      `Events (${happenings.length > page ? `the last ${page} of ${happenings.length}` : happenings.length})`,
    ),
    h(
      'ul',
      { class: 'plain' },
      shown.map((each) =>
        h('li', { key: `${each.atMs} ${each.pod?.uid ?? ''} ${each.text}` }, [
          h(
            'button',
            { class: 'link', onClick: () => onJump(each) },
            `${clockOf(each.atMs)} (${offset(each.atMs - startMs)})`,
          ),
          ' ',
          each.pod ? h('b', null, h('bdi', null, each.pod.name)) : null,
          ` ${each.text}`,
        ]),
      ),
    ),
  ])
}
