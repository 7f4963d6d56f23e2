import { type PodFilter, podFilter } from '../../story/filter.ts'
import type { Load, Mark, PodStory } from '../../story/model.ts'
import type { Story } from '../../story/story.ts'
import { span, type TimeScale, xOf } from '../time-axis.ts'

export type Grouping = 'workload' | 'node'
export interface Row {
  key: string
  label: string
  /** Absent: the heading of a group. */
  pod?: PodStory
}

export const rowHeight = 22
export const barHeight = 12

/** Lanes: a heading for each group, then its pods in the order of their births. */
export function rowsOf(story: Story, grouping: Grouping, filter: PodFilter = podFilter('')): Row[] {
  const groups = new Map<string, PodStory[]>()
  for (const pod of story.pods.values()) {
    if (!filter(pod)) continue
    const label = grouping === 'node' ? `Node ${pod.node || '(none yet)'}` : workloadOf(story, pod)
    const group = groups.get(label)
    if (group) group.push(pod)
    else groups.set(label, [pod])
  }
  const labels = [...groups.keys()].sort()
  return labels.flatMap((label): Row[] => {
    const pods = groups.get(label)!.sort((a, b) => bornMs(a) - bornMs(b))
    return [
      { key: label, label: `${label} · ${pods.length}` },
      ...pods.map((pod) => ({ key: pod.uid, label: pod.name, pod })),
    ]
  })
}

/** `Deployment/web`: of the outermost that is known. */
function workloadOf(story: Story, pod: PodStory): string {
  const owner = pod.owner
  if (!owner) return `${pod.namespace}: pods without a workload`
  const outer = story.workloads.get(story.workloads.get(owner.uid)?.owner ?? '')
  return `${pod.namespace}: ${outer ? `${outer.kind}/${outer.name}` : `${owner.kind}/${owner.name}`}`
}

export const bornMs = (pod: PodStory): number => pod.phases[0]?.startMs ?? 0

export interface Bar {
  kind: string
  x: number
  width: number
  /** From the middle of the lane, as a share of the bar's height. */
  part: 'whole' | 'inner'
  title: string
}

/** What is drawn of a pod: its phases, and within Terminating the steps of its containers. */
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

export const graceOf = ({ grace }: PodStory, scale: TimeScale): { x: number; width: number } | undefined =>
  grace && span(scale, grace.startMs, grace.endMs)

export interface PlacedMark extends Mark {
  x: number
}
export const marksOf = (marks: readonly Mark[], scale: TimeScale): PlacedMark[] =>
  marks
    .filter(({ atMs }) => atMs >= scale.fromMs && atMs <= scale.toMs)
    .map((mark) => ({ ...mark, x: xOf(scale, mark.atMs) }))

/** One letter for each kind of mark, so that colour is not needed. */
export const markLetters: Readonly<Record<Mark['kind'], string>> = {
  ...{ probe: 'P', restart: 'R', eviction: 'E', endpoint: 'S', warning: '!', note: 'N', failure: '✕', gap: '…' },
}

export interface LoadBar {
  x: number
  width: number
  answered: number
  lost: number
}
/** Heights are shares of the greatest count. */
export function loadBars(loads: readonly Load[], scale: TimeScale): LoadBar[] {
  const shown = loads.filter(({ startMs, endMs }) => endMs >= scale.fromMs && startMs <= scale.toMs)
  const most = shown.reduce((max, { answered, lost, cut }) => Math.max(max, answered + lost + cut), 1)
  return shown.map(({ startMs, endMs, answered, lost, cut }) => ({
    ...span(scale, startMs, endMs)!,
    ...{ answered: answered / most, lost: (lost + cut) / most },
  }))
}
