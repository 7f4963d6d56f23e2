import { h, type JSX } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { blames, lossesOf, lossRuns } from '../story/blame.ts'
import { lostWords } from '../story/losses.ts'
import type { PodStory } from '../story/model.ts'
import type { Story } from '../story/story.ts'
import { DeathView, noPod } from '../views/death.ts'
import { JournalView } from '../views/journal.ts'
import { NodesView } from '../views/nodes.ts'
import { ObjectView } from '../views/object.ts'
import { deploymentsOf, Lost, RolloutView } from '../views/rollout.ts'
import type { TimeWindow } from '../views/time-axis.ts'
import { wholeOf } from '../views/whole.ts'
import { NodeActions, PodActions } from './actions.ts'
import { type Address, podAddress, podAt, type Tab, tabs } from './address.ts'
import { Help, useKeys } from './keys.ts'
import { PodChoice } from './pod-choice.ts'
import { PodPane } from './pod-pane.ts'
import type { SourceState } from './source.ts'
import { type Shared, TimelinePanel } from './timeline-panel.ts'
import { useAddress } from './use-address.ts'
import { centred } from './window.ts'

export interface AppProps {
  story: Story
  /** Number of lines that the story has; a change renders the page again. */
  version: number
  source: SourceState
  nowMs: number
}

export function App({ story, version, source, nowMs }: AppProps): JSX.Element {
  const [address, change] = useAddress()
  const { tab } = address
  const [isHelpOpen, openHelp] = useState(false)
  const chosenPod = podAt(story, address.pod)
  const telling = useMemo(() => (tab === 'One death' || tab === 'Object' ? tellingPod(story) : undefined), [tab])
  const selected = chosenPod ?? telling
  const [ref, width] = useWidth()
  const whole = wholeOf(story)
  const [isFollowing, follow] = useState(false)
  const size = address.window ? address.window.toMs - address.window.fromMs : whole.toMs - whole.fromMs
  const window = isFollowing ? { fromMs: nowMs - size * 0.95, toMs: nowMs + size * 0.05 } : (address.window ?? whole)
  const choose = (next: TimeWindow | undefined): void => {
    follow(false)
    change({ window: next })
  }
  const select = (pod: PodStory): void => change({ pod: podAddress(story, pod) })
  const setTab = (next: Tab): void => change({ tab: next })
  const show = (pod: PodStory): void => change({ pod: podAddress(story, pod), tab: 'One death' })
  const shared = { story, version, window, whole, width, nowMs }
  const isOver = source.kind === 'ended'
  const canEnd = source.mayAct && selected?.goneMs === undefined ? selected : undefined
  const pane = tab === 'Timeline' ? chosenPod : undefined
  useKeys({ '?': () => openHelp(true), Escape: () => change({ pod: '' }) })
  return h('div', null, [
    h(Head, { story, source, tab, setTab }),
    h('main', { class: pane ? 'with-pane' : undefined }, [
      h('div', { ref, id: 'panel', role: 'tabpanel', 'aria-label': tab }, [
        tab === 'Timeline' &&
          h(TimelinePanel, { ...shared, address, change, select, choose, isFollowing, follow, isOver, openHelp }),
        (tab === 'Object' || tab === 'One death') &&
          selected &&
          h(PodChoice, { story, pod: selected, select, hasEnded: tab === 'One death' }),
        tab === 'One death' && (selected ? h(DeathPanel, { story, pod: selected, width }) : noPod()),
        tab === 'Rollout' && h(RolloutPanel, { ...shared, open: show }),
        tab === 'Journal' && h(JournalView, { story, window: whole }),
        tab === 'Nodes' && h(NodesView, shared),
        tab === 'Nodes' && source.mayAct && h(NodeActions, { story }),
        tab === 'Object' && (selected?.object ? h(ObjectView, { object: selected.object }) : noPod()),
        (tab === 'Object' || tab === 'One death') && canEnd && h(PodActions, { pod: canEnd }),
      ]),
      pane && h(Pane, { ...shared, pod: pane, address, change, source, choose }),
    ]),
    h(Help, { isOpen: isHelpOpen, close: () => openHelp(false) }),
  ])
}

interface HeadProps {
  story: Story
  source: SourceState
  tab: Tab
  setTab(tab: Tab): void
}

function Head({ story, source, tab, setTab }: HeadProps): JSX.Element {
  const bad = source.kind === 'lost' || source.kind === 'signed-out'
  return h('header', null, [
    h('h1', null, ['Kubestage: ', h('bdi', null, story.title || 'a cluster')]),
    h(
      'p',
      { class: `state ${bad ? 'bad' : ''}`, role: 'status' },
      [story.problem, source.text].filter(Boolean).join(' · '),
    ),
    h(LostWords, { story, onClick: () => setTab('Rollout') }),
    h(Tabs, { tab, setTab }),
  ])
}

interface PaneState extends Shared {
  pod: PodStory
  address: Address
  change(change: Partial<Address>): void
  source: SourceState
  choose(window: TimeWindow): void
}

function Pane({ story, pod, window, nowMs, address, change, source, choose }: PaneState): JSX.Element {
  const losses = useMemo(() => lossRuns(story).get(pod.uid) ?? [], [pod, story.loads.length, pod.deaths.length])
  const blame = useMemo(() => blames(story).find((each) => each.pod === pod), [pod, losses])
  return h('div', null, [
    h(PodPane, {
      ...{ losses, pod, nowMs, address },
      isLive: source.kind === 'live' && !source.isFile,
      blame: blame ? `It ${blame.why}. ${blame.remedy}` : '',
      actions: source.mayAct && pod.goneMs === undefined ? h(PodActions, { pod }) : null,
      close: () => change({ pod: '' }),
      show: (tab) => change({ tab }),
      onJump: (atMs) => choose(centred(window, atMs)),
    }),
  ])
}

/** Shows on every view which requests were lost. */
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

/**
 * Returns the pod that is shown while none is selected: the pod that lost most requests, or else the one that ended
 * last.
 */
const tellingPod = (story: Story): PodStory | undefined =>
  blames(story)[0]?.pod ?? [...story.pods.values()].findLast(({ deaths }) => deaths.length > 0)

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

/** Returns a reference for an element, and the element's width as it changes. */
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
