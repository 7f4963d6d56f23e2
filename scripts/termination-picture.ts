import type { Termination } from '../shared/api/termination.ts'
import type { Container, Pod } from '../shared/api/types.ts'

/** What was seen of a pod's end. */
export interface SeenEnd {
  pod: Pod
  record: Termination
  /** Since the epoch: when it was deleted, and when it was gone. */
  deletedMs: number
  goneMs: number
}

const WIDTH = 880
const LEFT = 92
const RIGHT = 44
const TOP = 26
const ROW = 64
const BAR = 16
/** How long before the deletion the picture begins. */
const BEFORE_S = 0.12
/** Labels nearer to each other than this would overlap. */
const LABEL_WIDTH = 70

const style = `
  text { font: 12px ui-sans-serif, system-ui, sans-serif; fill: #1f2328 }
  .name { font-weight: 600 } .soft { fill: #59636e } .code { font-family: ui-monospace, monospace; font-size: 11px }
  line { stroke: #d1d9e0 } .deadline { stroke: #cf222e; stroke-dasharray: 4 3 }
  .runs { fill: #d1d9e0 } .hook { fill: #54aeff } .ends { fill: #4ac26b } .deaf { fill: #ff8182 } .mark { fill: #1f2328 }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc } .soft { fill: #9198a1 } line { stroke: #3d444d } .deadline { stroke: #f85149 }
    .runs { fill: #3d444d } .hook { fill: #1f6feb } .ends { fill: #238636 } .deaf { fill: #b62324 } .mark { fill: #f0f6fc }
  }`

/** A picture (SVG) of how a pod ended, with the times that were recorded; readable on light and on dark paper. */
export function drawTermination({ pod, record, deletedMs, goneMs }: SeenEnd): string {
  const since = (time = ''): number => (Date.parse(time) - deletedMs) / 1000
  const endS = Math.max((goneMs - deletedMs) / 1000, record.gracePeriodSeconds ?? 0)
  const x = (seconds: number): number =>
    Math.round(LEFT + ((seconds + BEFORE_S) / (endS + BEFORE_S)) * (WIDTH - LEFT - RIGHT))
  const containers = record.containers ?? []
  const rowY = (row: number): number => TOP + row * ROW
  const bottom = rowY(containers.length + 1)

  const axis = Array.from({ length: Math.floor(endS / 0.5) + 1 }, (_, index) => index / 2).map(
    (s) => line(x(s), TOP, x(s), bottom) + text(x(s), bottom + 15, `${s} s`, 'soft', 'middle'),
  )
  const deadline = x(record.gracePeriodSeconds ?? 0)
  const removed = record.steps?.find(({ name }) => name === 'EndpointRemoved')
  const server = [
    text(0, rowY(0) + 28, 'API server', 'name'),
    mark(x(0), rowY(0) + 24),
    text(x(0) + 10, rowY(0) + 20, `DELETE …/pods/${record.podName}?reason=${record.reason}`, 'code'),
    removed
      ? text(x(0) + 10, rowY(0) + 38, `${milliseconds(since(removed.endTime))} later no Service offers it`, 'soft')
      : '',
    mark(x((goneMs - deletedMs) / 1000), rowY(0) + 24),
    text(x((goneMs - deletedMs) / 1000), rowY(0) + 44, `${record.phase}, gone`, 'soft', 'middle'),
  ]
  const rows = containers.flatMap((container, index) => {
    const top = rowY(index + 1)
    const bar = (className: string, from: number, to: number): string =>
      `<rect class="${className}" x="${from}" y="${top + 18}" width="${Math.max(to - from, 2)}" height="${BAR}" rx="2"/>`
    const steps = container.steps ?? []
    const hook = steps.find(({ name }) => name === 'PreStop')
    const term = steps.find(({ name }) => name === 'SIGTERM')
    const kill = steps.find(({ name }) => name === 'SIGKILL')
    const exited = kill ?? term
    const spec = pod.spec.containers.find(({ name }) => name === container.name)
    const exit = `exit code ${container.exitCode}`
    const below = kill
      ? [
          label(x(since(term?.startTime)), 'SIGTERM, which it does not handle'),
          label(x(since(kill.startTime)) - 12, `SIGKILL, ${exit}`, 'end'),
        ]
      : x(since(exited?.endTime)) - x(since(term?.startTime)) < LABEL_WIDTH
        ? [label(x(since(term?.startTime)), `SIGTERM, ${exit}`)]
        : [label(x(since(term?.startTime)), 'SIGTERM'), label(x(since(exited?.endTime)), exit)]
    return [
      text(0, top + 31, container.name ?? '', 'name'),
      bar('runs', x(-BEFORE_S), x(since(steps[0]?.startTime))),
      hook ? bar('hook', x(since(hook.startTime)), x(since(hook.endTime))) : '',
      hook && spec ? text(x(0), top + 12, hookText(spec, record.reason ?? ''), 'code') : '',
      bar(kill ? 'deaf' : 'ends', x(since(term?.startTime)), x(since(exited?.endTime))),
      ...below,
    ]
    function label(at: number, words: string, anchor = 'start'): string {
      return text(at, top + 48, words, 'soft', anchor)
    }
  })

  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${bottom + 24}" role="img">
<title>How a pod of ${containers.length} containers ended, from DELETE to gone</title>
<style>${style}
</style>
${[
  ...axis,
  line(deadline, TOP, deadline, bottom, 'deadline'),
  text(deadline, TOP - 8, `grace period: ${record.gracePeriodSeconds} s`, 'soft', 'end'),
  ...server,
  ...rows,
]
  .filter(Boolean)
  .join('\n')}
</svg>
`
}

function hookText({ lifecycle }: Container, reason: string): string {
  const { httpGet } = lifecycle?.preStop ?? {}
  return httpGet
    ? `preStop: GET ${httpGet.path}, header KUBE-POD-TERM-REASON: ${reason}`
    : `preStop: a command, with KUBE_POD_TERM_REASON=${reason}`
}

const milliseconds = (seconds: number): string => `${Math.round(seconds * 1000)} ms`

const mark = (x: number, y: number): string => `<circle class="mark" cx="${x}" cy="${y}" r="4"/>`

function line(x1: number, y1: number, x2: number, y2: number, className?: string): string {
  return `<line${className ? ` class="${className}"` : ''} x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}"/>`
}

function text(x: number, y: number, words: string, className = '', anchor = 'start'): string {
  const escaped = words.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  const attributes = `${className ? ` class="${className}"` : ''}${anchor === 'start' ? '' : ` text-anchor="${anchor}"`}`
  return `<text x="${x}" y="${y}"${attributes}>${escaped}</text>`
}
