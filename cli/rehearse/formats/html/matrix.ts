import { h, type JSX } from 'preact'
import { plain } from '../../../../ui/story/text.ts'
import { ways } from '../../ways.ts'
import { type Cell, type Column, MANIFEST, Mark, manifestWords, UsedBar, usedWords } from './cells.ts'

const helpOf = new Map(ways.map(({ name, help }) => [name, help]))

/** A row for each way, a column for each workload; each cell opens its panel. */
export function Matrix({ columns }: { columns: readonly Column[] }): JSX.Element {
  const tried = new Set(columns.flatMap(({ cells }) => [...cells.keys()]))
  const known = [MANIFEST, ...helpOf.keys()].filter((way) => tried.has(way))
  const rows = [...known, ...[...tried].filter((way) => !known.includes(way))]
  const head = [
    h('th', { scope: 'col' }, 'way'),
    ...columns.map(({ workload }) => h('th', { scope: 'col' }, h('bdi', null, plain(workload.name)))),
  ]
  const body = rows.map((way) =>
    h('tr', null, [
      h('th', { scope: 'row' }, [plain(way), h('span', { class: 'soft' }, helpOf.get(way) ?? '')]),
      ...columns.map(({ cells }) => h('td', null, h(MatrixCell, { cell: cells.get(way) }))),
    ]),
  )
  const table = h('table', null, [h('thead', null, h('tr', null, head)), h('tbody', null, body)])
  return h('div', { class: 'scroll', tabIndex: 0, role: 'region', 'aria-label': 'Ways and workloads' }, table)
}

function MatrixCell({ cell }: { cell?: Cell }): JSX.Element {
  if (!cell) return h('span', { class: 'soft' }, '–')
  const { id, rehearsal, findings, status } = cell
  const words = rehearsal ? usedWords(rehearsal) : manifestWords(findings)
  const bar = rehearsal ? h(UsedBar, rehearsal) : null
  return h('a', { href: `#${id}` }, [h(Mark, { status }), bar, words])
}
