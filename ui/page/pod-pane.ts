import { h, type JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { endingOf } from '../story/ending.ts'
import { allMarks, type LossRun, lostWords } from '../story/losses.ts'
import type { Mark, PodStory } from '../story/model.ts'
import { dataTable } from '../views/data-table.ts'
import { clockOf, offset } from '../views/time-axis.ts'
import { bornMs, markLetters } from '../views/timeline/geometry.ts'
import type { Address } from './address.ts'
import { CopyLink } from './copy-link.ts'
import { PodLog } from './pod-log.ts'

export interface PodPaneProps {
  /** Requests that the pod lost. */
  losses: readonly LossRun[]
  pod: PodStory
  nowMs: number
  address: Address
  /** Says whether a cluster can be asked for logs. */
  isLive: boolean
  /** Says why requests were lost, and what to change. */
  blame: string
  actions: JSX.Element | null
  close(): void
  show(tab: 'One death' | 'Object'): void
  onJump(atMs: number): void
}

/** Shows a pod beside the timeline: how it ended, its phases, its log and its events. */
export function PodPane({
  losses,
  pod,
  nowMs,
  address,
  isLive,
  blame,
  actions,
  close,
  show,
  onJump,
}: PodPaneProps): JSX.Element {
  const frame = useRef<HTMLElement>(null)
  useEffect(() => frame.current?.scrollTo(0, 0), [pod.uid])
  const state = pod.goneMs === undefined ? pod.phases.at(-1)?.value : 'gone'
  const ending = endingOf(pod)
  const sum = (field: 'lost' | 'cut'): number => losses.reduce((total, run) => total + run[field], 0)
  const lost = lostWords({ lost: sum('lost'), cut: sum('cut') })
  return h('section', { ref: frame, class: 'pane', 'aria-label': `Pod ${pod.name}`, tabIndex: 0 }, [
    h('div', { class: 'bar' }, [
      h('h2', null, h('bdi', null, pod.name)),
      h('button', { 'aria-label': 'Close', title: 'Close (Esc)', onClick: close }, '✕'),
    ]),
    h('div', { class: 'bar' }, [
      h(CopyLink, { address }),
      h('button', { onClick: () => show('One death') }, 'One death'),
      h('button', { onClick: () => show('Object') }, 'YAML'),
    ]),
    h(
      'p',
      { class: `verdict ${ending?.isBad ? 'lost-words' : ''}` },
      [state, ending?.text].filter(Boolean).join(' · '),
    ),
    pod.deaths.length ? h('p', null, pod.deaths.at(-1)!.verdict) : null,
    lost ? h('p', { class: 'remedy' }, [h('b', { class: 'lost-words' }, `${lost}. `), blame]) : null,
    h(Facts, { pod }),
    h(Phases, { pod, nowMs }),
    isLive ? h(PodLog, { pod }) : null,
    h(PodEvents, { pod, marks: allMarks(pod, losses), onJump }),
    actions,
  ])
}

function Facts({ pod }: { pod: PodStory }): JSX.Element {
  const { namespace, node, ip, images, owner, workload, reason, restarts, labels } = pod
  const facts: readonly (readonly [string, string])[] = [
    ['namespace', namespace],
    ['node', node],
    ['address', ip],
    [images.length > 1 ? 'images' : 'image', images.join(', ')],
    ['owner', owner ? `${owner.kind}/${owner.name}` : workload],
    ['reason', reason],
    ['restarts', restarts ? String(restarts) : ''],
    [
      'labels',
      Object.entries(labels)
        .slice(0, 20)
        .map(([key, value]) => `${key}=${value}`)
        .join(', '),
    ],
  ]
  return h(
    'p',
    { class: 'facts' },
    facts.flatMap(([name, value]) =>
      value ? [h('span', null, [`${name} `, h('b', null, h('bdi', null, value))])] : [],
    ),
  )
}

interface Phase {
  name: string
  startMs: number
  endMs: number
  isStep?: boolean
}

/** Shows the phases, and within the last one the steps of its containers. */
function phasesOf({ phases, deaths }: PodStory, nowMs: number): Phase[] {
  const all: Phase[] = phases.map(({ value: name, startMs, endMs = Math.max(nowMs, startMs) }) => ({
    ...{ name, startMs, endMs },
  }))
  for (const { containers } of deaths)
    for (const { name, segments } of containers)
      for (const { name: step, startMs, endMs } of segments)
        all.push({ name: `${name}: ${step}`, startMs, endMs, isStep: true })
  return all.sort((a, b) => a.startMs - b.startMs || Number(a.isStep ?? false) - Number(b.isStep ?? false))
}

/** Bounds the list to the newest entries. */
const mostRows = 60

function Phases({ pod, nowMs }: { pod: PodStory; nowMs: number }): JSX.Element {
  const zeroMs = bornMs(pod)
  const rows = phasesOf(pod, nowMs).slice(-mostRows)
  const shown = rows.map(({ name, startMs, endMs, isStep }) =>
    h('tr', null, [
      h('td', { class: isStep ? 'soft' : undefined }, h('bdi', null, name)),
      h('td', { class: 'num', title: offset(startMs - zeroMs) }, clockOf(startMs)),
      h('td', { class: 'num' }, Math.round(endMs - startMs).toLocaleString('en')),
    ]),
  )
  return h('section', { 'aria-label': 'Phases' }, [
    h('h3', null, 'Phases'),
    dataTable(['Phase', 'From', 'Milliseconds'], shown),
  ])
}

interface PodEventsProps {
  pod: PodStory
  marks: readonly Mark[]
  onJump(atMs: number): void
}

function PodEvents({ pod, marks, onJump }: PodEventsProps): JSX.Element {
  const zeroMs = bornMs(pod)
  const all = [
    ...pod.events.map((event) => ({ ...event, letter: '' })),
    ...marks.map((mark) => ({ ...mark, letter: markLetters[mark.kind] })),
  ]
  const known = new Set(marks.map(({ text }) => text))
  const shown = all.filter(({ letter, text }) => letter || !known.has(text)).sort((a, b) => a.atMs - b.atMs)
  return h('section', { 'aria-label': 'Events of the pod' }, [
    h('h3', null, `Events (${shown.length})`),
    h(
      'ul',
      { class: 'plain' },
      shown
        .slice(-mostRows)
        .map(({ atMs, text, letter }) =>
          h('li', { key: `${atMs} ${text}` }, [
            h('button', { class: 'link', onClick: () => onJump(atMs) }, offset(atMs - zeroMs)),
            letter ? h('b', null, ` ${letter}`) : null,
            ` ${text}`,
          ]),
        ),
    ),
  ])
}
