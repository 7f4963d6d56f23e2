import { Fragment, h, type JSX } from 'preact'
import type { Death, PodStory, Segment } from '../story/model.ts'
import { remedyOf } from '../story/remedy.ts'
import { clockOf, span, type TimeScale, words, xOf } from './time-axis.ts'
import { shorten } from './timeline/timeline.ts'

const laneHeight = 46

/** From the first request to delete it until it was gone. */
export function deathScale(pod: PodStory, death: Death, width: number): TimeScale {
  const asked = death.asks.map(({ atMs }) => atMs)
  const fromMs = Math.min(death.startMs, ...asked)
  const graceEndMs = fromMs + death.graceSeconds * 1_000
  const lastMs = Math.max(death.endMs, death.endpointRemovedMs ?? 0, pod.goneMs ?? 0)
  // A long grace period, of which little was used, would make the rest too small to see.
  const toMs = Math.max(lastMs, Math.min(graceEndMs, fromMs + (lastMs - fromMs) * 3))
  const margin = (toMs - fromMs) * 0.04 + 1
  return { fromMs: fromMs - margin, toMs: toMs + margin, left: Math.min(120, width * 0.25), right: width - 12 }
}

/** One death as a picture: a lane for the API server, one for each container. */
export function DeathPicture({ pod, death, width }: { pod: PodStory; death: Death; width: number }): JSX.Element {
  const scale = deathScale(pod, death, width)
  const zeroMs = Math.min(death.startMs, ...death.asks.map(({ atMs }) => atMs))
  const bottom = 20 + (death.containers.length + 1) * laneHeight
  const graceMs = zeroMs + death.graceSeconds * 1_000
  const grace = span(scale, zeroMs, graceMs)
  const seconds = Array.from({ length: 6 }, (_, index) => zeroMs + ((scale.toMs - zeroMs) * index) / 6)
  const title = `How ${pod.name} ended: ${death.verdict}`
  return h(
    'svg',
    {
      class: 'ks death',
      width,
      height: bottom + 24,
      role: 'img',
      'aria-label': title,
      xmlns: 'http://www.w3.org/2000/svg',
    },
    [
      ...seconds.map((ms) => [
        h('line', { class: 'grid', x1: xOf(scale, ms), x2: xOf(scale, ms), y1: 16, y2: bottom }),
        h('text', { class: 'soft', x: xOf(scale, ms) + 2, y: bottom + 15 }, words(ms - zeroMs)),
      ]),
      grace && h('rect', { class: 'grace', 'data-bar': 'grace', ...grace, y: 18, height: bottom - 20, rx: 4 }),
      grace &&
        h(
          'text',
          { class: 'soft', x: grace.x + 4, y: 12 },
          `grace period: ${death.graceSeconds} s${graceMs > scale.toMs ? ', beyond the picture' : ''}`,
        ),
      h('text', { class: 'strong', x: 4, y: 46 }, 'API server'),
      ...serverMarks(pod, death, zeroMs).map(([ms, text], index) => {
        const x = xOf(scale, ms)
        const isLate = x > (scale.left + scale.right) / 2
        return [
          h('circle', { class: 'mark', cx: x, cy: 42, r: 5 }),
          h(
            'text',
            {
              class: 'soft',
              x: isLate ? x - 8 : x + 8,
              y: [34, 58][index % 2],
              'text-anchor': isLate ? 'end' : 'start',
            },
            text,
          ),
        ]
      }),
      ...death.containers.map(({ name, segments, exitCode }, index) => {
        const y = 20 + (index + 1) * laneHeight
        const last = segments.at(-1)
        return [
          h('text', { class: 'strong', x: 4, y: y + 24 }, shorten(name, scale.left - 10)),
          ...segments.map((segment) => segmentBar(segment, scale, y + 10)),
          last && exitText(xOf(scale, last.endMs), y + 42, exitCode, scale),
        ]
      }),
    ],
  )
}

function serverMarks(pod: PodStory, death: Death, zeroMs: number): [number, string][] {
  const marks: [number, string][] = [
    [
      zeroMs,
      `deleted${death.asks[0]?.user ? ` by ${shorten(death.asks[0].user, 150)}` : ''}${death.reason ? `, reason ${shorten(death.reason, 150)}` : ''}`,
    ],
  ]
  if (death.endpointRemovedMs !== undefined)
    marks.push([death.endpointRemovedMs, `no Service offers it: ${words(death.endpointRemovedMs - zeroMs)}`])
  if (pod.goneMs !== undefined) marks.push([pod.goneMs, `${death.phase}, gone`])
  return marks
}

function segmentBar({ kind, name, startMs, endMs }: Segment, scale: TimeScale, y: number): JSX.Element | null {
  const place = span(scale, startMs, endMs)
  if (!place) return null
  return h('g', null, [
    h(
      'rect',
      { class: kind, 'data-bar': kind, ...place, y, height: 18, rx: 2 },
      h('title', null, `${name}: ${words(endMs - startMs)}`),
    ),
    place.width > 60 ? h('text', { class: 'soft', x: place.x, y: y - 3 }, name) : null,
  ])
}

function exitText(x: number, y: number, exitCode: number | undefined, { right }: TimeScale): JSX.Element {
  const isLate = x > right - 90
  const text = exitCode === undefined ? 'ended' : `exit code ${exitCode}`
  return h('text', { class: 'soft', x: isLate ? x : x + 4, y, 'text-anchor': isLate ? 'end' : 'start' }, text)
}

/** The picture, and the same in words: each step with its output. */
export function DeathView({ pod, width }: { pod: PodStory; width: number }): JSX.Element {
  const title = h('h2', null, ['How ', h('bdi', null, pod.name), ' ended'])
  if (!pod.deaths.length) {
    const alive = pod.goneMs === undefined
    const none = alive
      ? 'It runs: there is no record of an end yet.'
      : 'The record has no Termination of this pod: its node may have been lost.'
    return h('section', null, [title, h('p', null, none)])
  }
  return h('section', null, [title, ...[...pod.deaths].reverse().map((death) => OneDeath(pod, death, width))])
}

function OneDeath(pod: PodStory, death: Death, width: number): JSX.Element {
  const zeroMs = Math.min(death.startMs, ...death.asks.map(({ atMs }) => atMs))
  const fact = (name: string, value: string): JSX.Element | null =>
    value ? h('span', null, [`${name} `, h('b', null, value)]) : null
  const remedies = [...new Set(death.containers.map(({ verdictType }) => remedyOf(verdictType)).filter(Boolean))]
  return h('article', { key: death.name }, [
    h('p', { class: 'verdict' }, death.verdict),
    ...remedies.map((remedy) => h('p', { class: 'remedy' }, remedy)),
    h('p', { class: 'facts' }, [
      fact('asked by', death.asks.map(({ user }) => user).join(', ')),
      fact('reason', death.reason || 'none given'),
      fact('cause', death.cause),
      fact('used', `${death.used} of ${death.graceSeconds} s`),
      fact('phase', death.phase),
      fact('node', pod.node),
    ]),
    death.message ? h('p', null, death.message) : null,
    h(DeathPicture, { pod, death, width }),
    h('h3', null, 'Step by step'),
    h(
      'ol',
      { class: 'plain' },
      stepsOf(pod, death).map(({ atMs, text, output }) =>
        h('li', null, [
          h('span', { class: 'soft' }, `${clockOf(atMs)}  +${words(atMs - zeroMs)}  `),
          text,
          output ? h('pre', null, output) : null,
        ]),
      ),
    ),
  ])
}

interface Step {
  atMs: number
  text: string
  output?: string
}
export function stepsOf(pod: PodStory, death: Death): Step[] {
  const steps: Step[] = death.asks.map(({ atMs, user, reason, graceSeconds }) => ({
    atMs,
    text: `${user} asks to delete it${reason ? `, reason ${reason}` : ''}${graceSeconds === undefined ? '' : `, grace period ${graceSeconds} s`}`,
  }))
  if (death.endpointRemovedMs !== undefined)
    steps.push({ atMs: death.endpointRemovedMs, text: 'No Service offers it any more' })
  for (const { name, segments, exitCode, verdict } of death.containers) {
    for (const segment of segments)
      steps.push({ atMs: segment.startMs, text: `${name}: ${stepText(segment)}`, output: segment.output })
    const code = exitCode === undefined ? '' : ` with exit code ${exitCode}`
    steps.push({ atMs: segments.at(-1)?.endMs ?? death.endMs, text: `${name}: ended${code}: ${verdict}` })
  }
  if (pod.goneMs !== undefined)
    steps.push({ atMs: pod.goneMs, text: `The pod is gone${death.phase ? ` (${death.phase})` : ''}` })
  return steps.sort((a, b) => a.atMs - b.atMs)
}

function stepText({ name, outcome, startMs, endMs, exitCode, httpStatus, message }: Segment): string {
  const codes = [
    exitCode === undefined ? '' : `exit code ${exitCode}`,
    httpStatus === undefined ? '' : `HTTP ${httpStatus}`,
  ]
  const how = [outcome, words(endMs - startMs), ...codes, message].filter(Boolean).join(', ')
  return `${name} (${how})`
}

export const noPod = (): JSX.Element => h(Fragment, null, h('p', null, 'Choose a pod in the timeline or in its table.'))
