import { Fragment, h, type JSX } from 'preact'
import { plain } from '../../../../ui/story/text.ts'
import type { Earlier, EarlierWay } from '../../earlier.ts'
import { verdictOf } from '../../report.ts'
import { statuses } from '../../status.ts'
import { type Cell, type Column, MANIFEST, Mark, UsedBar, usedWords } from './cells.ts'

interface TrendProps {
  columns: readonly Column[]
  earlier: readonly Earlier[]
}

/** Shows a table for each workload. Its rows are the ways, its columns the earlier reports and, last, this report. */
export function Trend({ columns, earlier }: TrendProps): JSX.Element {
  return h('section', { 'aria-labelledby': 'trend' }, [
    h('h2', { id: 'trend' }, 'Trend'),
    ...columns.map((column) => h(WorkloadTrend, { column, earlier })),
  ])
}

function WorkloadTrend({ column, earlier }: { column: Column; earlier: readonly Earlier[] }): JSX.Element {
  const name = plain(column.workload.name)
  const before = earlier.map(({ workloads }) => workloads.get(name) ?? new Map<string, EarlierWay>())
  const tried = [...column.cells.values()].filter(({ way }) => way !== MANIFEST)
  const head = [
    h('th', { scope: 'col' }, 'way'),
    ...earlier.map((report) => h('th', { scope: 'col' }, h(ReportName, { report }))),
    h('th', { scope: 'col' }, 'this report'),
  ]
  const body = tried.map((cell) =>
    h('tr', null, [
      h('th', { scope: 'row' }, plain(cell.way)),
      ...before.map((ways) => h('td', null, h(TrendMark, { way: ways.get(plain(cell.way)) }))),
      h('td', null, h('a', { href: `#${cell.id}` }, h(TrendMark, { way: wayOf(cell) }))),
    ]),
  )
  const table = h('table', null, [h('thead', null, h('tr', null, head)), h('tbody', null, body)])
  return h(Fragment, null, [
    h('h3', null, h('bdi', null, name)),
    h('div', { class: 'scroll', tabIndex: 0, role: 'region', 'aria-label': `Trend of ${name}` }, table),
  ])
}

function ReportName({ report: { label, timeMs } }: { report: Earlier }): JSX.Element {
  const time = timeMs === undefined ? null : h('span', { class: 'soft' }, [' ', timeWords(timeMs)])
  return h(Fragment, null, [h('bdi', null, label), time])
}

function TrendMark({ way }: { way?: EarlierWay }): JSX.Element {
  if (!way) return h('span', { class: 'soft' }, '–')
  return h('span', { title: way.says }, [
    h(Mark, { status: way.status, words: way.says }),
    h(UsedBar, way),
    usedWords(way),
  ])
}

const wayOf = ({ status, rehearsal }: Cell): EarlierWay | undefined =>
  rehearsal && {
    status,
    usedSeconds: rehearsal.usedSeconds,
    graceSeconds: rehearsal.graceSeconds,
    says: plain(status === 'doubt' ? statuses.doubt.words : verdictOf(rehearsal)),
  }

/** Returns a time in UTC, so that the same reports give the same page everywhere. */
export const timeWords = (ms: number): string => {
  const time = new Date(ms)
  return Number.isNaN(time.getTime()) ? '' : `${time.toISOString().slice(0, 16).replace('T', ' ')} UTC`
}
