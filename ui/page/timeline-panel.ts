import { h, type JSX } from 'preact'
import { useMemo, useRef } from 'preact/hooks'
import { podFilter } from '../story/filter.ts'
import type { PodStory } from '../story/model.ts'
import type { Story } from '../story/story.ts'
import { Legend } from '../views/legend.ts'
import type { TimeWindow } from '../views/time-axis.ts'
import { rowsOf } from '../views/timeline/geometry.ts'
import { type Address, podAt } from './address.ts'
import { Chart } from './chart.ts'
import { CopyLink } from './copy-link.ts'
import { useKeys } from './keys.ts'
import { type Happening, HappeningList, happeningsOf, PodTable } from './tables.ts'
import { centred, zoomed } from './window.ts'

export interface Shared {
  story: Story
  /** Number of lines that the story has; a change renders the panel again. */
  version: number
  nowMs: number
  window: TimeWindow
  whole: TimeWindow
  width: number
}

export interface TimelineState extends Shared {
  address: Address
  change(change: Partial<Address>): void
  select(pod: PodStory): void
  choose(window: TimeWindow | undefined): void
  isFollowing: boolean
  follow(on: boolean): void
  openHelp(on: boolean): void
  /** The record has ended, so there is no present time to follow. */
  isOver: boolean
}

export function TimelinePanel(props: TimelineState): JSX.Element {
  const { story, version, window, address, select, choose, isFollowing, follow, isOver } = props
  const { filter, grouping } = address
  const rows = useMemo(() => rowsOf(story, grouping, podFilter(filter)), [version, grouping, filter])
  const happenings = useMemo(() => happeningsOf(story, rows), [rows])
  const search = useRef<HTMLInputElement>(null)
  // The lists are not drawn again while the chart is moved, so what they call must know the present.
  const jump = ({ atMs, pod }: Happening): void => {
    choose(centred(window, atMs))
    if (pod) select(pod)
  }
  const latest = useRef(jump)
  latest.current = jump
  const step = (by: 1 | -1): void => {
    const middle = (window.fromMs + window.toMs) / 2
    const isNext = ({ atMs }: Happening): boolean => (by > 0 ? atMs > middle + 1 : atMs < middle - 1)
    const next = by > 0 ? happenings.find(isNext) : happenings.findLast(isNext)
    if (next) jump(next)
  }
  const lists = useMemo(
    () =>
      h('div', { class: 'columns' }, [
        h(PodTable, { rows, onSelect: select }),
        h(HappeningList, { happenings, startMs: story.startMs, onJump: (happening) => latest.current(happening) }),
      ]),
    [rows, happenings],
  )
  const toggle = (): void => follow(!isFollowing)
  const find = (): void => search.current?.focus()
  useKeys({ '/': find, n: () => step(1), p: () => step(-1), ...(!isOver && { f: toggle }) })
  return h('section', { 'aria-label': 'Timeline' }, [
    h(Tools, { ...props, search, step }),
    rows.length
      ? h(Chart, {
          ...{ ...props, rows, onWindow: choose, onSelect: select },
          selectedUid: podAt(story, address.pod)?.uid,
        })
      : h('p', null, 'No pod matches, or none has been seen yet.'),
    h(Legend, null),
    lists,
  ])
}

interface ToolsProps extends TimelineState {
  search: { current: HTMLInputElement | null }
  step(by: 1 | -1): void
}

function Tools(props: ToolsProps): JSX.Element {
  const { window, address, change, choose, isFollowing, follow, isOver, openHelp, search, step } = props
  const { filter, grouping } = address
  const button = (label: string, name: string, onClick: () => void, pressed?: boolean): JSX.Element =>
    h('button', { onClick, 'aria-label': name, title: name, 'aria-pressed': pressed }, label)
  const input = {
    type: 'search',
    placeholder: 'app=web, a name, a reason, 137',
    title: 'Labels, or words: parts of names, nodes, reasons, verdicts; exit codes (/)',
    'aria-label': 'Filter pods by labels or text',
  }
  return h('div', { class: 'bar tools' }, [
    h('input', {
      ...{ ...input, ref: search, value: filter },
      onInput: ({ currentTarget }) => change({ filter: currentTarget.value }),
    }),
    button('Workloads', 'Workloads as groups', () => change({ grouping: 'workload' }), grouping === 'workload'),
    button('Nodes', 'Nodes as groups', () => change({ grouping: 'node' }), grouping === 'node'),
    button('+', 'Zoom in', () => choose(zoomed(window, 0.6))),
    button('−', 'Zoom out', () => choose(zoomed(window, 1 / 0.6))),
    button('All', 'All (0)', () => choose(undefined)),
    button('‹', 'Previous event (p)', () => step(-1)),
    button('›', 'Next event (n)', () => step(1)),
    isOver ? null : button('Follow', 'Follow now (f)', () => follow(!isFollowing), isFollowing),
    h(CopyLink, { address }),
    button('?', 'Keys (?)', () => openHelp(true)),
  ])
}
