import { createHash } from 'node:crypto'
import { Fragment, h, type JSX } from 'preact'
import { renderToString } from 'preact-render-to-string'
import { msOf } from '../../../../ui/story/text.ts'
import type { Earlier } from '../../earlier.ts'
import { diesWell, type Report } from '../../report.ts'
import { type Column, columnsOf } from './cells.ts'
import { Matrix } from './matrix.ts'
import { Panel } from './panel.ts'
import { Remedies } from './remedies.ts'
import { pageStyle } from './style.ts'
import { Trend, timeWords } from './trend.ts'

/** Returns the report as one HTML file that loads nothing and has no script: links open the panels. */
export function htmlReport(report: Report, earlier: readonly Earlier[] = []): string {
  const style = createHash('sha256').update(pageStyle).digest('base64')
  const policy = `default-src 'none'; style-src 'sha256-${style}'; img-src data:; base-uri 'none'; form-action 'none'`
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Shutdown rehearsal</title>
<link rel="icon" href="data:,">
<style>${pageStyle}</style>
${renderToString(h(Page, { report, earlier }))}
</html>
`
}

function Page({ report, earlier }: { report: Report; earlier: readonly Earlier[] }): JSX.Element {
  const columns = columnsOf(report.workloads)
  const first = firstOf(columns)
  const panels = columns.flatMap((column) =>
    [...column.cells.values()].map((cell) => h(Panel, { column, cell, isFirst: cell.id === first })),
  )
  return h(Fragment, null, [
    h('header', null, [h('h1', null, 'Shutdown rehearsal'), h('p', { class: 'soft' }, summary(report))]),
    h('main', null, [
      h('div', { class: 'beside' }, [
        h('section', { 'aria-labelledby': 'ways' }, [h('h2', { id: 'ways' }, 'Ways'), h(Matrix, { columns })]),
        h('section', { 'aria-labelledby': 'remedies' }, [
          h('h2', { id: 'remedies' }, 'What to change'),
          h(Remedies, { columns }),
        ]),
      ]),
      ...panels,
      earlier.length > 0 ? h(Trend, { columns, earlier }) : null,
    ]),
  ])
}

function summary({ workloads, time, timeScale }: Report): string {
  const bad = workloads.filter((workload) => !diesWell(workload)).length
  const end = bad === 0 ? 'All die well.' : `${bad} of ${workloads.length} do not die well.`
  const began = msOf(time)
  const pace = timeScale === 1 ? 'in real time' : `in time ${timeScale} times faster`
  return `${end} Rehearsed ${began === undefined ? '' : `${timeWords(began)}, `}${pace}.`
}

/** The first that is bad, or else the first of all. */
function firstOf(columns: readonly Column[]): string | undefined {
  const all = columns.flatMap(({ cells }) => [...cells.values()])
  const died = all.filter(({ rehearsal }) => rehearsal)
  return (died.find(({ status }) => status === 'bad') ?? all.find(({ status }) => status === 'bad') ?? died[0])?.id
}
