import { lossRuns } from '../../story/blame.ts'
import { type PodFilter, podFilter } from '../../story/filter.ts'
import { type LossRun, lostWords } from '../../story/losses.ts'
import type { Load, Mark, NodeStory, PodStory } from '../../story/model.ts'
import type { Story } from '../../story/story.ts'
import { span, type TimeScale, xOf } from '../time-axis.ts'
import { wholeOf } from '../whole.ts'

export type Grouping = 'workload' | 'node'
export interface Row {
  key: string
  label: string
  /** Names the images of the group's pods; only headings have it. */
  note?: string
  /** Holds the pod; absent in the heading of a group. */
  pod?: PodStory
  /** Requests that the pod lost. */
  losses?: readonly LossRun[]
  node?: NodeStory
}

export const labelLetter = 7
export const rowHeight = 22
export const barHeight = 12

/**
 * Returns the lanes: a heading for each group, then its pods sorted by creation. A pod that ended before the shown time
 * has no lane.
 */
export function rowsOf(story: Story, grouping: Grouping, filter: PodFilter = podFilter('')): Row[] {
  const groups = new Map<string, PodStory[]>()
  const losses = lossRuns(story)
  const { fromMs } = wholeOf(story)
  for (const pod of story.pods.values()) {
    if ((pod.goneMs ?? fromMs) < fromMs || !filter(pod)) continue
    const label = grouping === 'node' ? `Node ${pod.node || '(none yet)'}` : workloadOf(story, pod)
    const group = groups.get(label)
    if (group) group.push(pod)
    else groups.set(label, [pod])
  }
  const labels = [...groups.keys()].sort()
  return labels.flatMap((label): Row[] => {
    const pods = groups.get(label)!.sort((a, b) => bornMs(a) - bornMs(b))
    return [
      { key: label, label: `${label} · ${pods.length}`, note: imagesOf(pods) },
      ...pods.map((pod) => {
        const { uid: key, name: label } = pod
        return { key, label, pod, losses: losses.get(key), node: story.nodes.get(pod.node) }
      }),
    ]
  })
}

const mostNamed = 3

function imagesOf(pods: readonly PodStory[]): string {
  const all = [...new Set(pods.flatMap(({ images }) => images))]
  return [...all.slice(0, mostNamed), ...(all.length > mostNamed ? [`${all.length - mostNamed} more`] : [])].join(', ')
}

/** Returns the outermost known owner, such as `Deployment/web`. */
function workloadOf(story: Story, pod: PodStory): string {
  const owner = pod.owner
  if (!owner) return `${pod.namespace}: ${pod.workload || 'pods without a workload'}`
  const outer = story.workloads.get(story.workloads.get(owner.uid)?.owner ?? '')
  return `${pod.namespace}: ${outer ? `${outer.kind}/${outer.name}` : `${owner.kind}/${owner.name}`}`
}

export const bornMs = (pod: PodStory): number => pod.phases[0]?.startMs ?? 0

export interface Bar {
  kind: string
  x: number
  width: number
  /** `inner` bars are lower than the lane's bar. */
  part: 'whole' | 'inner'
  title: string
}

/** Returns the bars of a pod: its phases, and within Terminating the steps of its containers. */
export function barsOf(pod: PodStory, scale: TimeScale, nowMs: number): Bar[] {
  const bars: Bar[] = []
  const add = (kind: string, startMs: number, endMs: number, part: Bar['part'], title: string): void => {
    const place = span(scale, startMs, endMs)
    if (place) bars.push({ kind, ...place, part, title })
  }
  for (const { value, startMs, endMs = Math.max(nowMs, startMs) } of pod.phases)
    add(value, startMs, endMs, 'whole', value)
  for (const death of pod.deaths)
    for (const { segments } of death.containers)
      for (const { kind, startMs, endMs, name, outcome } of segments)
        add(kind, startMs, endMs, 'inner', [name, outcome].filter(Boolean).join(' '))
  return bars
}

/** Bars that are hatched, so that they can be told apart without colours. */
export const hatches: Readonly<Record<string, 'light' | 'dark'>> = { Pending: 'light', kill: 'light', BackOff: 'dark' }

export interface Band {
  x: number
  width: number
  title: string
}

/** Returns the bands for the times at which the pod's node was lost or not ready while the pod existed. */
export function bandsOf({ pod, node }: Row, scale: TimeScale, nowMs: number): Band[] {
  if (!pod || !node) return []
  const [fromMs, toMs] = [bornMs(pod), pod.goneMs ?? Number.POSITIVE_INFINITY]
  return node.states.flatMap(({ value, startMs, endMs = Math.max(nowMs, startMs) }) => {
    if (value === 'Ready' || endMs < fromMs || startMs > toMs) return []
    const place = span(scale, Math.max(startMs, fromMs), Math.min(endMs, toMs))
    return place ? [{ ...place, title: `${node.name} ${value === 'Lost' ? 'lost' : 'not ready'}` }] : []
  })
}

/** Returns the places below a pod's bar where the pod lost requests. */
export const lossesOf = ({ losses = [] }: Row, scale: TimeScale): Band[] =>
  losses.flatMap((run) => {
    const place = span(scale, run.startMs, run.endMs)
    return place ? [{ x: place.x, width: Math.max(place.width, 4), title: lostWords(run) }] : []
  })

export const graceOf = ({ grace }: PodStory, scale: TimeScale): { x: number; width: number } | undefined =>
  grace && span(scale, grace.startMs, grace.endMs)

export interface PlacedMark extends Mark {
  x: number
}
/** Letters nearer to each other than this cannot be read. */
const apart = 12
/** Bounds the distance of a letter from its time. */
const mostAside = 3 * apart

/**
 * Places marks, which are sorted by time. Marks of one kind that would overlap become one with all texts; marks of
 * different kinds stand side by side.
 */
export function marksOf(marks: readonly Mark[], scale: TimeScale): PlacedMark[] {
  const placed: PlacedMark[] = []
  for (const mark of marks) {
    if (mark.atMs < scale.fromMs || mark.atMs > scale.toMs) continue
    const x = xOf(scale, mark.atMs)
    const last = placed.at(-1)
    const aside = Math.max(x, (last?.x ?? Number.NEGATIVE_INFINITY) + apart)
    const isFull = aside - x > mostAside || aside > scale.right
    const near =
      placed.findLast((other) => other.kind === mark.kind && x - other.x < apart) ?? (isFull ? last : undefined)
    if (near) near.text += `\n${mark.text}`
    else placed.push({ ...mark, x: aside })
  }
  return placed
}

/** Gives each kind of mark a letter, so that colour is not needed. */
export const markLetters: Readonly<Record<Mark['kind'], string>> = {
  ...{ probe: 'P', restart: 'R', eviction: 'E', cancelled: 'C', endpoint: 'S', kill: 'K', lost: 'L' },
  ...{ warning: '!', note: 'N', failure: '✕', gap: '…' },
}

const alarms: ReadonlySet<Mark['kind']> = new Set(['kill', 'lost', 'failure'])
/** Returns whether a mark has the colour of errors. */
export const isAlarm = (kind: Mark['kind']): boolean => alarms.has(kind)

export interface LoadBar {
  x: number
  width: number
  answered: number
  lost: number
}
/** Heights are relative to the greatest count. */
export function loadBars(loads: readonly Load[], scale: TimeScale): LoadBar[] {
  const shown = loads.filter(({ startMs, endMs }) => endMs >= scale.fromMs && startMs <= scale.toMs)
  const most = shown.reduce((max, { answered, lost, cut }) => Math.max(max, answered + lost + cut), 1)
  return shown.map(({ startMs, endMs, answered, lost, cut }) => ({
    ...span(scale, startMs, endMs)!,
    ...{ answered: answered / most, lost: (lost + cut) / most },
  }))
}
