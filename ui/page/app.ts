import { h, type JSX } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { blames, lossesOf } from '../story/blame.ts'
import { podFilter } from '../story/filter.ts'
import { lostWords } from '../story/losses.ts'
import type { PodStory } from '../story/model.ts'
import type { Story } from '../story/story.ts'
import { DeathView, noPod } from '../views/death.ts'
import { JournalView } from '../views/journal.ts'
import { Legend } from '../views/legend.ts'
import { NodesView } from '../views/nodes.ts'
import { ObjectView } from '../views/object.ts'
import { deploymentsOf, Lost, RolloutView } from '../views/rollout.ts'
import type { TimeWindow } from '../views/time-axis.ts'
import { type Grouping, rowsOf } from '../views/timeline/geometry.ts'
import { wholeOf } from '../views/whole.ts'
import { NodeActions, PodActions } from './actions.ts'
import { Chart } from './chart.ts'
import { PodChoice } from './pod-choice.ts'
import type { SourceState } from './source.ts'
import { type Happening, HappeningList, happeningsOf, PodTable } from './tables.ts'
import { centred, zoomed } from './window.ts'

export interface AppProps {
  story: Story
  /** Grows with what the story has been told. */
  version: number
  source: SourceState
  nowMs: number
}

const tabs = ['Timeline', 'One death', 'Rollout', 'Journal', 'Nodes', 'Object'] as const
type Tab = (typeof tabs)[number]

export function App({ story, version, source, nowMs }: AppProps): JSX.Element {
  const [tab, setTab] = useTab()
  const [chosenPod, select] = useState<PodStory>()
  const telling = useMemo(() => (tab === 'One death' || tab === 'Object' ? tellingPod(story) : undefined), [tab])
  const selected = chosenPod ?? telling
  const [ref, width] = useWidth()
  const whole = wholeOf(story)
  const [chosen, setWindow] = useState<TimeWindow>()
  const [isFollowing, follow] = useState(false)
  const size = chosen ? chosen.toMs - chosen.fromMs : whole.toMs - whole.fromMs
  const window = isFollowing ? { fromMs: nowMs - size * 0.95, toMs: nowMs + size * 0.05 } : (chosen ?? whole)
  const choose = (next: TimeWindow | undefined): void => {
    follow(false)
    setWindow(next)
  }
  const open = (pod: PodStory): void => {
    select(pod)
    setTab('One death')
  }
  const shared = { story, version, window, whole, width, nowMs }
  const canEnd = source.mayAct && selected?.goneMs === undefined ? selected : undefined
  const bad = source.kind === 'lost' || source.kind === 'signed-out'
  return h('div', null, [
    h('header', null, [
      h('h1', null, ['Kubestage: ', h('bdi', null, story.title || 'a cluster')]),
      h(
        'p',
        { class: `state ${bad ? 'bad' : ''}`, role: 'status' },
        [story.problem, source.text].filter(Boolean).join(' · '),
      ),
      h(LostWords, { story, onClick: () => setTab('Rollout') }),
      h(Tabs, { tab, setTab }),
    ]),
    h(
      'main',
      null,
      h('div', { ref, id: 'panel', role: 'tabpanel', 'aria-label': tab }, [
        tab === 'Timeline' &&
          h(TimelinePanel, {
            ...shared,
            selected,
            select,
            open,
            choose,
            isFollowing,
            follow,
            isOver: source.kind === 'ended',
          }),
        (tab === 'Object' || tab === 'One death') &&
          selected &&
          h(PodChoice, { story, pod: selected, select, hasEnded: tab === 'One death' }),
        tab === 'One death' && (selected ? h(DeathPanel, { story, pod: selected, width }) : noPod()),
        tab === 'Rollout' && h(RolloutPanel, { ...shared, open }),
        tab === 'Journal' && h(JournalView, { story, window: whole }),
        tab === 'Nodes' && h(NodesView, shared),
        tab === 'Nodes' && source.mayAct && h(NodeActions, { story }),
        tab === 'Object' && (selected?.object ? h(ObjectView, { object: selected.object }) : noPod()),
        (tab === 'Object' || tab === 'One death') && canEnd && h(PodActions, { pod: canEnd }),
      ]),
    ),
  ])
}

/** On every view: what went wrong for clients. */
function LostWords({ story, onClick }: { story: Story; onClick(): void }): JSX.Element | null {
  const losses = lossesOf(story)
  if (!losses) return null
  return h('p', { class: 'state bad' }, [
    `${lostWords(losses)}: `,
    h('button', { class: 'link', onClick }, 'which pods, why, and what to change'),
  ])
}

function DeathPanel({ story, pod, width }: { story: Story; pod: PodStory; width: number }): JSX.Element {
  const blame = useMemo(() => blames(story).find((each) => each.pod === pod), [pod, story.loads.length])
  return h('div', null, [
    h(DeathView, { pod, width }),
    blame &&
      h('p', { class: 'remedy' }, [
        h('b', { class: 'lost-words' }, `${lostWords(blame)} nearest to this end. `),
        `It ${blame.why}. ${blame.remedy}`,
      ]),
  ])
}

/** Where none is chosen: the pod that lost most, or else the one that ended last. */
const tellingPod = (story: Story): PodStory | undefined =>
  blames(story)[0]?.pod ?? [...story.pods.values()].findLast(({ deaths }) => deaths.length > 0)

/** The tab that the address names: it can be sent, and the browser goes back to the one before. */
function useTab(): [Tab, (tab: Tab) => void] {
  const named = (): Tab => tabs.find((tab) => hashOf(tab) === location.hash) ?? 'Timeline'
  const [tab, setTab] = useState<Tab>(named)
  useEffect(() => {
    const onHash = (): void => setTab(named())
    addEventListener('hashchange', onHash)
    return () => removeEventListener('hashchange', onHash)
  }, [])
  const go = (next: Tab): void => {
    setTab(next)
    if (location.hash !== hashOf(next)) location.hash = hashOf(next)
  }
  return [tab, go]
}

const hashOf = (tab: Tab): string => `#${tab.toLowerCase().replace(' ', '-')}`

function Tabs({ tab, setTab }: { tab: Tab; setTab(tab: Tab): void }): JSX.Element {
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
    if (!step) return
    const next = tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length]!
    setTab(next)
    document.getElementById(`tab-${next}`)?.focus()
  }
  return h(
    'nav',
    { role: 'tablist', 'aria-label': 'Views', onKeyDown },
    tabs.map((name) => {
      const isOn = name === tab
      const props = {
        role: 'tab',
        id: `tab-${name}`,
        'aria-selected': isOn,
        'aria-controls': 'panel',
        tabIndex: isOn ? 0 : -1,
      } as const
      return h('button', { key: name, ...props, onClick: () => setTab(name) }, name)
    }),
  )
}

interface Shared extends Omit<AppProps, 'source'> {
  window: TimeWindow
  whole: TimeWindow
  width: number
}
interface TimelineState extends Shared {
  selected?: PodStory
  select(pod: PodStory): void
  open(pod: PodStory): void
  choose(window: TimeWindow | undefined): void
  isFollowing: boolean
  follow(on: boolean): void
  /** There is no present to follow. */
  isOver: boolean
}

function TimelinePanel(props: TimelineState): JSX.Element {
  const { story, version, window, selected, select, open, choose, isFollowing, follow, isOver } = props
  const [text, setText] = useState('')
  const [grouping, group] = useState<Grouping>('workload')
  const rows = useMemo(() => rowsOf(story, grouping, podFilter(text)), [version, grouping, text])
  const happenings = useMemo(() => happeningsOf(story, rows), [rows])
  const jump = ({ atMs, pod }: Happening): void => {
    choose(centred(window, atMs))
    if (pod) select(pod)
  }
  const step = (by: 1 | -1): void => {
    const middle = (window.fromMs + window.toMs) / 2
    const isNext = ({ atMs }: Happening): boolean => (by > 0 ? atMs > middle + 1 : atMs < middle - 1)
    const next = by > 0 ? happenings.find(isNext) : happenings.findLast(isNext)
    if (next) jump(next)
  }
  const button = (label: string, onClick: () => void, pressed?: boolean): JSX.Element =>
    h('button', { onClick, 'aria-pressed': pressed }, label)
  // The lists are not drawn again while the chart is moved.
  const lists = useMemo(
    () =>
      h('div', { class: 'columns' }, [
        h(PodTable, { rows, onSelect: open }),
        h(HappeningList, { happenings, startMs: story.startMs, onJump: jump }),
      ]),
    [rows, happenings],
  )
  useKeys({ n: () => step(1), p: () => step(-1), ...(!isOver && { f: () => follow(!isFollowing) }) })
  const search = {
    type: 'search',
    placeholder: 'app=web, or part of a name',
    'aria-label': 'Filter pods by labels or text',
  }
  return h('section', { 'aria-label': 'Timeline' }, [
    h('div', { class: 'bar' }, [
      h('input', { ...search, value: text, onInput: ({ currentTarget }) => setText(currentTarget.value) }),
      button('By workload', () => group('workload'), grouping === 'workload'),
      button('By node', () => group('node'), grouping === 'node'),
      button('Zoom in', () => choose(zoomed(window, 0.6))),
      button('Zoom out', () => choose(zoomed(window, 1 / 0.6))),
      button('All', () => choose(undefined)),
      button('Previous event (p)', () => step(-1)),
      button('Next event (n)', () => step(1)),
      isOver ? null : button('Follow now (f)', () => follow(!isFollowing), isFollowing),
    ]),
    rows.length
      ? h(Chart, { ...props, rows, selectedUid: selected?.uid, onWindow: choose, onSelect: open })
      : h('p', null, 'No pod matches, or none has been seen yet.'),
    h(Legend, null),
    lists,
  ])
}

/** Keys that work wherever the focus is, but for places where people write. */
function useKeys(keys: Record<string, () => void>): void {
  useEffect(() => {
    const onKeyDown = ({ key, target, ctrlKey, metaKey, altKey }: KeyboardEvent): void => {
      if (ctrlKey || metaKey || altKey) return
      if (target instanceof HTMLInputElement || target instanceof HTMLSelectElement) return
      keys[key]?.()
    }
    addEventListener('keydown', onKeyDown)
    return () => removeEventListener('keydown', onKeyDown)
  })
}

function RolloutPanel({ story, window, width, open }: Shared & { open(pod: PodStory): void }): JSX.Element {
  const [uid, choose] = useState('')
  const all = deploymentsOf(story)
  const workload = all.find((each) => each.uid === uid) ?? all.findLast(({ counts }) => counts.length > 1) ?? all[0]
  if (!workload)
    return h('section', null, [
      h('p', null, 'The record has no Deployment, StatefulSet or DaemonSet.'),
      h(Lost, { story, onSelect: open }),
    ])
  const options = all.map((each) =>
    h('option', { value: each.uid, key: each.uid }, `${each.namespace}: ${each.kind}/${each.name}`),
  )
  return h('section', null, [
    h(
      'div',
      { class: 'bar' },
      h(
        'select',
        {
          'aria-label': 'Workload',
          value: workload.uid,
          onChange: (event: Event) => choose((event.currentTarget as HTMLSelectElement).value),
        },
        options,
      ),
    ),
    h(RolloutView, { story, workload, window, width, onSelect: open }),
  ])
}

/** Of the element, as it changes. */
function useWidth(): [{ current: HTMLDivElement | null }, number] {
  const ref = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(() => Math.max(300, document.documentElement.clientWidth - 34))
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => entry && setWidth(Math.floor(entry.contentRect.width) - 2))
    if (ref.current) observer.observe(ref.current)
    return () => observer.disconnect()
  }, [])
  return [ref, width]
}
