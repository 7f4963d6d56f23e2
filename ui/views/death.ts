import { Fragment, h, type JSX } from 'preact'
import { hookOf } from '../story/hook.ts'
import type { Death, PodStory, Segment } from '../story/model.ts'
import { remedyOf } from '../story/remedy.ts'
import { DeathLane, laneHeight } from './death-lane.ts'
import { type Label, placeLabels } from './labels.ts'
import { clockOf, durationTicks, offset, span, type TimeScale, words, xOf } from './time-axis.ts'
import { shorten } from './timeline/shorten.ts'

/** Height of the API server's lane, including the words above it. */
const serverHeight = 70

/** Returns the time axis, from the first delete request until the pod was gone, or until `untilMs` if that is later. */
export function deathScale(pod: PodStory, death: Death, width: number, untilMs = 0): TimeScale {
  const asked = death.asks.map(({ atMs }) => atMs)
  const fromMs = Math.min(death.startMs, ...asked)
  const graceEndMs = fromMs + death.graceSeconds * 1_000
  const lastMs = Math.max(death.endMs, death.endpointRemovedMs ?? 0, pod.goneMs ?? 0, untilMs)
  // A long grace period, of which little was used, would make the rest too small to see.
  const toMs = Math.max(lastMs, Math.min(graceEndMs, fromMs + (lastMs - fromMs) * 3))
  const margin = (toMs - fromMs) * 0.04 + 1
  return { fromMs: fromMs - margin, toMs: toMs + margin, left: Math.min(120, width * 0.25), right: width - 12 }
}

export const deathHeight = ({ containers }: Death): number => serverHeight + containers.length * laneHeight + 24

interface DeathPictureProps {
  pod: PodStory
  death: Death
  width: number
  /** The picture lasts at least until this time. */
  untilMs?: number
}

/** Draws a death: a lane for the API server, and one for each container. */
export function DeathPicture({ pod, death, width, untilMs }: DeathPictureProps): JSX.Element {
  const scale = deathScale(pod, death, width, untilMs)
  const zeroMs = Math.min(death.startMs, ...death.asks.map(({ atMs }) => atMs))
  const bottom = deathHeight(death) - 24
  const graceMs = zeroMs + death.graceSeconds * 1_000
  const grace = span(scale, zeroMs, graceMs)
  const marks = serverMarks(pod, death, zeroMs, scale)
  const title = `How ${pod.name} ended: ${death.verdict}`
  return h(
    'svg',
    {
      class: 'ks death',
      width,
      height: deathHeight(death),
      role: 'img',
      'aria-label': title,
      xmlns: 'http://www.w3.org/2000/svg',
    },
    [
      ...durationTicks(scale, zeroMs).map(({ x, label }) => [
        h('line', { class: 'grid', x1: x, x2: x, y1: 16, y2: bottom }),
        h('text', { class: 'soft', x: x + 2, y: bottom + 15 }, label),
      ]),
      grace && h('rect', { class: 'grace', 'data-bar': 'grace', ...grace, y: 18, height: bottom - 20, rx: 4 }),
      grace &&
        h(
          'text',
          { class: 'soft', x: grace.x + 4, y: 12 },
          `grace period: ${death.graceSeconds} s${graceMs > scale.toMs ? ', beyond the picture' : ''}`,
        ),
      h('text', { class: 'strong', x: 4, y: 46 }, 'API server'),
      ...marks.map(({ x }) => h('circle', { class: 'mark', cx: x, cy: 42, r: 5 })),
      ...placeLabels(marks, 2, scale).map(({ text, textX, row, anchor }) =>
        h('text', { class: 'soft', x: textX, y: [34, 58][row], 'text-anchor': anchor }, text),
      ),
      ...death.containers.map((container, index) =>
        h(DeathLane, {
          container,
          hook: hookOf(pod.object, container.name, death.reason),
          y: serverHeight + index * laneHeight,
          scale,
        }),
      ),
    ],
  )
}

function serverMarks(pod: PodStory, death: Death, zeroMs: number, scale: TimeScale): Label[] {
  const most = Math.max(100, (scale.right - scale.left) / 3)
  const user = death.asks[0]?.user
  const by = user ? ` by ${shorten(user, most)}` : ''
  const marks: [number | undefined, string][] = [
    [zeroMs, `deleted${by}${death.reason ? `, reason ${shorten(death.reason, most)}` : ''}`],
    [death.endpointRemovedMs, `no Service offers it: ${words((death.endpointRemovedMs ?? 0) - zeroMs)}`],
    [pod.goneMs, `${death.phase}, gone`],
  ]
  return marks.flatMap(([ms, text]) => (ms === undefined ? [] : { x: xOf(scale, ms), text }))
}

/** Shows the picture of each death, and below it each step in words, with its output. */
export function DeathView({ pod, width }: { pod: PodStory; width: number }): JSX.Element {
  const title = h('h2', null, ['How ', h('bdi', null, pod.name), ' ended'])
  if (!pod.deaths.length) {
    const alive = pod.goneMs === undefined
    const none = alive
      ? 'It runs: there is no record of an end yet.'
      : 'The record has no Termination of this pod: its node may have been lost.'
    return h('section', null, [title, h('p', null, none)])
  }
  const deaths = pod.deaths.toReversed()
  return h('section', null, [title, ...deaths.map((death) => h(OneDeath, { key: death.name, pod, death, width }))])
}

/** Shows one death. `remedies` says what to change, if more is known than the record says. */
export function OneDeath({
  pod,
  death,
  width,
  untilMs,
  above,
  remedies = remediesOf(death),
}: OneDeathProps): JSX.Element {
  const zeroMs = Math.min(death.startMs, ...death.asks.map(({ atMs }) => atMs))
  const fact = (name: string, value: string): JSX.Element | null =>
    value ? h('span', null, [`${name} `, h('b', null, value)]) : null
  return h('article', null, [
    h('p', { class: 'verdict' }, death.verdict),
    ...remedies.map((remedy) => h('p', { class: 'remedy' }, remedy)),
    h('p', { class: 'facts' }, [
      fact('asked by', [...new Set(death.asks.map(({ user }) => user))].join(', ')),
      fact('reason', death.reason || 'none given'),
      fact('cause', death.cause),
      fact('used', `${death.used} of ${death.graceSeconds} s`),
      fact('phase', death.phase),
      fact('node', pod.node),
    ]),
    death.message ? h('p', null, death.message) : null,
    above,
    h(DeathPicture, { pod, death, width, untilMs }),
    h('h3', null, 'Step by step'),
    h(
      'ol',
      { class: 'plain' },
      stepsOf(pod, death).map(({ atMs, text, output }) =>
        h('li', null, [
          h('span', { class: 'soft' }, `${clockOf(atMs)}  ${offset(atMs - zeroMs)}  `),
          text,
          output ? h('pre', null, output) : null,
        ]),
      ),
    ),
  ])
}

interface OneDeathProps extends DeathPictureProps {
  /** Shows another picture with the same time axis. */
  above?: JSX.Element
  remedies?: readonly string[]
}

const remediesOf = ({ containers }: Death): string[] => [
  ...new Set(containers.map(({ verdictType }) => remedyOf(verdictType)).filter(Boolean)),
]

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
