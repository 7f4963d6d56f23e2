import { Fragment, h, type JSX } from 'preact'
import { plain } from '../../../../ui/story/text.ts'
import { type Finding, isBad } from '../../report.ts'
import type { Cell, Column } from './cells.ts'
import { Mark } from './cells.ts'

const mostText = 2_000

/** Shows a finding: what is wrong, and what to do about it. */
export function FindingText({ finding }: { finding: Finding }): JSX.Element {
  const { container, says, remedy, severity } = finding
  const where = container === undefined ? null : [h('bdi', null, plain(container)), ': ']
  return h(Fragment, null, [
    h(Mark, { status: severity === 'bad' ? 'bad' : 'note', words: severity === 'bad' ? 'fault:' : 'note:' }),
    where,
    plain(says, mostText),
    remedy === undefined ? null : h('p', { class: 'remedy' }, plain(remedy, mostText)),
  ])
}

/** The faults of each workload, each once, with the ways in which it was seen. */
export function Remedies({ columns }: { columns: readonly Column[] }): JSX.Element {
  const bad = columns.flatMap((column) => faultsOf(column).map((fault) => ({ column, ...fault })))
  if (bad.length === 0) return h('p', null, 'Nothing has to be changed.')
  const items = bad.map(({ column, finding, cells }) =>
    h('li', null, [
      columns.length > 1 ? [h('b', null, h('bdi', null, plain(column.workload.name))), ' '] : null,
      h(FindingText, { finding }),
      h('span', { class: 'soft' }, ['seen in ', ...linksTo(cells)]),
    ]),
  )
  return h('ul', { class: 'plain' }, items)
}

const linksTo = (cells: readonly Cell[]): (JSX.Element | string)[] =>
  cells.flatMap(({ id, way }, index) => [index > 0 ? ', ' : '', h('a', { href: `#${id}` }, plain(way))])

/** Groups findings by fault and container; numbers in their words may differ. */
function faultsOf({ cells }: Column): { finding: Finding; cells: Cell[] }[] {
  const found = new Map<string, { finding: Finding; cells: Cell[] }>()
  for (const cell of cells.values()) {
    for (const finding of cell.findings.filter(isBad)) {
      const key = `${finding.fault} ${finding.container}`
      const known = found.get(key)
      if (known) known.cells.push(cell)
      else found.set(key, { finding, cells: [cell] })
    }
  }
  return [...found.values()]
}
