import { h, type JSX } from 'preact'
import { blames, lossesOf, newsLagMs } from '../story/blame.ts'
import { type LossRun, lostWords } from '../story/losses.ts'
import type { PodStory, WorkloadCounts, WorkloadStory } from '../story/model.ts'
import type { Story } from '../story/story.ts'
import { dataTable } from './data-table.ts'
import { Axis, clockOf, type TimeScale, type TimeWindow, words, xOf } from './time-axis.ts'
import { loadBars } from './timeline/geometry.ts'

export const deploymentsOf = (story: Story): WorkloadStory[] =>
  [...story.workloads.values()].filter(
    ({ kind }) => kind === 'Deployment' || kind === 'StatefulSet' || kind === 'DaemonSet',
  )

/** Returns the ReplicaSets of a Deployment, the newest first; of other kinds the workload itself. */
export function setsOf(story: Story, workload: WorkloadStory): WorkloadStory[] {
  const sets = [...story.workloads.values()].filter(
    ({ owner, counts }) => owner === workload.uid && counts.some(({ total }) => total),
  )
  return sets.length ? sets.sort((a, b) => b.revision - a.revision) : [workload]
}

interface Props {
  story: Story
  workload: WorkloadStory
  window: TimeWindow
  width: number
  onSelect?(pod: PodStory): void
}

const chart = { top: 24, bottom: 184 }

/** Draws the ready pods of each ReplicaSet over time, their sum, and lost requests below. */
export function RolloutPicture({ story, workload, window, width }: Props): JSX.Element {
  const scale = { ...window, left: 36, right: width - 10 }
  const sets = setsOf(story, workload)
  const most = Math.max(
    1,
    ...sets.flatMap(({ counts }) => counts.map(({ total }) => total)),
    ...workload.counts.map(({ total, desired }) => Math.max(total, desired)),
  )
  const yOf = (count: number): number => chart.bottom - (count / most) * (chart.bottom - chart.top)
  const line = (counts: readonly WorkloadCounts[], field: 'ready' | 'total'): string => steps(counts, field, scale, yOf)
  const levels = [...new Set([0, Math.round(most / 2), most])]
  const title = `Ready pods of ${workload.kind} ${workload.name} by revision`
  return h(
    'svg',
    { class: 'ks rollout', width, height: 236, role: 'img', 'aria-label': title, xmlns: 'http://www.w3.org/2000/svg' },
    [
      h(Axis, { scale, y: 14, bottom: 232 }),
      ...levels.map((level) => [
        h('line', { class: 'grid', x1: scale.left, x2: scale.right, y1: yOf(level), y2: yOf(level) }),
        h('text', { class: 'soft', x: scale.left - 6, y: yOf(level) + 4, 'text-anchor': 'end' }, String(level)),
      ]),
      h('path', { class: 'series total', d: line(workload.counts, 'total') }, h('title', null, 'all pods, with surge')),
      ...sets
        .slice(0, 6)
        .reverse()
        .map((set) =>
          h(
            'path',
            { class: `series ${set === sets[0] ? 'new' : 'old'}`, 'data-set': set.name, d: line(set.counts, 'ready') },
            h('title', null, `${set.name}: ready`),
          ),
        ),
      ...loadBars(story.loads, scale).flatMap(({ x, width, answered, lost }) => [
        h('rect', { class: 'answered', x, y: 230 - answered * 34, width, height: answered * 34 }),
        lost
          ? h('rect', { class: 'lost', 'data-bar': 'lost', x, width, ...above(230 - answered * 34, lost * 34) })
          : null,
      ]),
    ],
  )
}

/** Draws a bar that ends at `bottom` and has a minimum height. */
const above = (bottom: number, size: number): { y: number; height: number } => {
  const height = Math.max(size, 4)
  return { y: bottom - height, height }
}

/** Returns the path of a stepped line: a count holds until the next. */
function steps(
  counts: readonly WorkloadCounts[],
  field: 'ready' | 'total',
  scale: TimeScale,
  yOf: (count: number) => number,
): string {
  const path: string[] = []
  const clamp = (ms: number): string => Math.min(Math.max(xOf(scale, ms), scale.left), scale.right).toFixed(1)
  for (const [index, count] of counts.entries()) {
    const nextMs = counts[index + 1]?.atMs ?? scale.toMs
    const y = yOf(count[field]).toFixed(1)
    path.push(`${path.length ? 'L' : 'M'}${clamp(count.atMs)},${y}L${clamp(nextMs)},${y}`)
  }
  return path.join('')
}

/** Returns the largest number of missing pods since all were ready for the first time. */
function missingSince(counts: readonly WorkloadCounts[]): number {
  const from = counts.findIndex(({ ready, desired }) => desired > 0 && ready >= desired)
  return Math.max(0, ...counts.slice(from === -1 ? 0 : from).map(({ ready, desired }) => desired - ready))
}

export function RolloutView(props: Props): JSX.Element {
  const { story, workload, onSelect } = props
  const sets = setsOf(story, workload)
  const surge = Math.max(0, ...workload.counts.map(({ total, desired }) => total - desired))
  const low = missingSince(workload.counts)
  const limit = (name: string, text: string): string => (text ? ` (${name} ${text})` : '')
  return h('section', null, [
    h('h2', null, ['Rollout of ', h('bdi', null, `${workload.kind}/${workload.name}`)]),
    h('p', { class: 'facts' }, [
      h('span', null, ['replicas ', h('b', null, String(workload.counts.at(-1)?.desired ?? 0))]),
      h('span', null, ['most above ', h('b', null, `${surge}${limit('maxSurge', workload.maxSurge)}`)]),
      h('span', null, ['most not ready ', h('b', null, `${low}${limit('maxUnavailable', workload.maxUnavailable)}`)]),
    ]),
    h(RolloutPicture, props),
    h(
      'p',
      { class: 'soft' },
      'Solid: ready pods of the new revision. Dashed: of older ones. Dotted: all pods. Below: requests, and those that were lost.',
    ),
    h(
      'ul',
      null,
      sets.map((set, index) =>
        h('li', { key: set.uid }, [
          h('bdi', null, set.name),
          `: revision ${set.revision || '?'}${index ? ' (old)' : ' (new)'}, ${set.counts.at(-1)?.ready ?? 0} ready`,
        ]),
      ),
    ),
    h(Lost, { story, onSelect }),
  ])
}

function lostFacts({ startMs, endMs }: LossRun, afterMs: number): string {
  const when = `From ${clockOf(startMs)} to ${clockOf(endMs)} (${words(endMs - startMs)}).`
  const after =
    afterMs > 0
      ? ` The last ones came ${words(afterMs)} after no Service offered these pods: a hook has to wait longer.`
      : ''
  return `${when}${after} Lost: no connection, or no answer. Cut: the connection broke while it was answered.`
}

/** Shows which pods lost requests, why, and what to change. */
export function Lost({ story, onSelect }: Pick<Props, 'story' | 'onSelect'>): JSX.Element {
  const all = blames(story)
  const measured = story.loads.length > 0
  if (!all.length)
    return h(
      'p',
      null,
      measured ? 'No request was lost.' : 'The record has no load: nothing measured requests while it was made.',
    )
  const losses = lossesOf(story)
  const rows = all.slice(0, 100).map(({ pod, target, lost, cut, why, remedy }) => {
    const name =
      pod && onSelect ? h('button', { class: 'link', onClick: () => onSelect(pod) }, pod.name) : (pod?.name ?? target)
    return h('tr', { key: pod?.uid ?? target }, [
      h('td', null, name),
      h('td', { class: 'num' }, String(lost)),
      h('td', { class: 'num' }, String(cut)),
      h('td', null, why),
      h('td', null, remedy),
    ])
  })
  return h('section', { 'aria-label': 'Lost requests' }, [
    h('h3', { class: 'lost-words' }, losses && lostWords(losses)),
    losses && h('p', null, lostFacts(losses, newsLagMs(all, losses))),
    dataTable(['Pod that ended nearest', 'Lost', 'Cut', 'Why', 'What to change'], rows),
  ])
}

export const lasted = ({ fromMs, toMs }: TimeWindow): string => words(toMs - fromMs)
