import { h, type JSX } from 'preact'
import { deathOf } from '../../../../ui/story/death.ts'
import type { Death, Load, PodStory } from '../../../../ui/story/model.ts'
import { newPod } from '../../../../ui/story/pod.ts'
import { plain } from '../../../../ui/story/text.ts'
import { OneDeath } from '../../../../ui/views/death.ts'
import { words } from '../../../../ui/views/time-axis.ts'
import { type Rehearsal, type Seen, verdictOf } from '../../report.ts'
import { WITNESS } from '../../verdict/witness.ts'
import { cells as cellTexts, columns as columnNames } from '../shown.ts'
import type { Cell, Column } from './cells.ts'
import { Mark } from './cells.ts'
import { FindingText } from './remedies.ts'
import { endOf, loadOf, Requests } from './requests.ts'

const pictureWidth = 860

interface PanelProps {
  column: Column
  cell: Cell
  /** The one that is open while none is chosen. */
  isFirst: boolean
}

/** Shows what a cell opens: its findings, and the picture of the death. */
export function Panel({ column: { workload }, cell, isFirst }: PanelProps): JSX.Element {
  const { id, way, findings, rehearsal, status } = cell
  const drawn = rehearsal?.seen && storyOf(rehearsal.seen)
  const title = [h(Mark, { status }), h('bdi', null, plain(workload.name)), `: ${plain(way)}`]
  const verdict = rehearsal ? verdictOf(rehearsal) : 'Nothing is wrong with the manifest.'
  return h('section', { class: `panel${isFirst ? ' first' : ''}`, id, 'aria-labelledby': `${id}-title` }, [
    h('h2', { id: `${id}-title` }, title),
    findings.length === 0 ? h('p', { class: 'verdict' }, plain(verdict)) : null,
    h(
      'ul',
      { class: 'plain' },
      findings.map((finding) => h('li', null, h(FindingText, { finding }))),
    ),
    rehearsal ? h(Facts, { rehearsal }) : null,
    drawn ? h(Drawn, { ...drawn, loads: (rehearsal.seen?.loads ?? []).map(loadOf) }) : null,
    rehearsal && !drawn ? h('p', { class: 'soft' }, 'There is no record of an end.') : null,
    h('p', null, h('a', { href: '#ways' }, 'Back to the ways')),
  ])
}

function Drawn({ pod, death, loads }: { pod: PodStory; death: Death; loads: readonly Load[] }): JSX.Element {
  const shown = { pod, death, width: pictureWidth, untilMs: endOf(loads) }
  const of = h(OneDeath, { ...shown, above: h(Requests, { ...shown, loads }), remedies: [] })
  return h('div', { class: 'scroll', tabIndex: 0, role: 'region', 'aria-label': 'Picture of the end' }, of)
}

/** Shows what the tables of other formats have. */
function Facts({ rehearsal }: { rehearsal: Rehearsal }): JSX.Element {
  const texts = cellTexts(rehearsal).map((text, index) => [columnNames[index]?.toLowerCase() ?? '', text] as const)
  const cut = rehearsal.requests?.cut
  const more: (readonly [string, string])[] = [
    ...(cut ? [['of these cut', String(cut)] as const] : []),
    ...(rehearsal.requests ? [['slowest answer', words(rehearsal.requests.slowestSeconds * 1000)] as const] : []),
    ...(rehearsal.inRealTime ? [['repeated', 'in real time'] as const] : []),
    ...(rehearsal.inDoubt ? [['inconclusive', 'in faster time'] as const] : []),
  ]
  return h(
    'p',
    { class: 'facts' },
    [...texts.slice(1), ...more].map(([name, text]) => h('span', null, [`${name} `, h('b', null, plain(text))])),
  )
}

/** Returns what a view of a record takes; undefined where the kubelet wrote no Termination. */
function storyOf({ termination, pod }: Seen): { pod: PodStory; death: Death } | undefined {
  if (!termination) return undefined
  const { podUID = '', podName = '', nodeName = '', metadata } = termination
  const death = deathOf(termination as unknown as Parameters<typeof deathOf>[0])
  death.containers = death.containers.filter(({ name }) => name !== WITNESS)
  const story: PodStory = {
    ...newPod(podUID, podName, metadata.namespace ?? ''),
    node: plain(nodeName),
    object: pod as unknown as PodStory['object'],
    deaths: [death],
  }
  return { pod: story, death }
}
