import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type BarRow, barChart } from './bars.ts'
import { figureOf, type MarkdownTable, sectionOf, tablesOf } from './tables.ts'

interface Chart {
  /** Of the file in docs/pictures. */
  name: string
  /** In docs, with the part whose first table is drawn. */
  page: string
  part: string
  title: string
  /** Which columns have the figures, and the unit where the table has it elsewhere. */
  columns: readonly [number, number]
  unit?: string
}

/** Of a table that compares (bench/report.ts): the figures, and the CPU time. */
const figures = [2, 3] as const
const cpuTimes = [5, 6] as const
const cpu = { columns: cpuTimes, unit: 'µs of CPU time' }

const charts: readonly Chart[] = [
  { name: 'bench', page: 'performance.md', part: 'bench', title: 'Kubestage and its ceiling', columns: figures },
  { name: 'bench-real', page: 'performance.md', part: 'real', title: 'Beside a real API server', columns: figures },
  { name: 'bench-real-cpu', page: 'performance.md', part: 'real', title: 'CPU time beside a real API server', ...cpu },
  { name: 'bench-etcd-cpu', page: 'scale.md', part: 'etcd', title: 'CPU time on etcd', ...cpu },
]

/** The charts of docs/pictures by their names, drawn from the tables that stand in the pages of the folder. */
export const drawnCharts = (docs: string, part?: string): Map<string, string> =>
  new Map(
    charts
      .filter((chart) => part === undefined || chart.part === part)
      .map((chart) => [chart.name, chartOf(readFileSync(join(docs, chart.page), 'utf8'), chart)]),
  )

/** Those of one part, after its table was written. */
export function writeCharts(docs: string, part: string): void {
  for (const [name, drawn] of drawnCharts(docs, part)) writeFileSync(join(docs, 'pictures', `${name}.svg`), drawn)
}

export function chartOf(document: string, { part, title, columns, unit }: Chart): string {
  const [table = { headings: [], rows: [] }] = tablesOf(sectionOf(document, part))
  const [ours, other] = columns.map((column) => (table.headings[column] ?? '').replace(/^CPU µs, /, ''))
  return barChart({ title, names: [ours ?? '', other ?? ''], rows: rowsOf(table, columns, unit) })
}

/** Rows with both figures. One below zero (an event before its answer) is no length. */
function rowsOf({ rows }: MarkdownTable, [ours, other]: readonly [number, number], own?: string): BarRow[] {
  return rows.flatMap((cells) => {
    const [what = '', unit = ''] = cells
    const [left, right] = [barOf(cells[ours]), barOf(cells[other])]
    return left && right ? [{ what, unit: own ?? unit, bars: [left, right] as const }] : []
  })
}

function barOf(text = ''): { text: string; value: number } | undefined {
  const value = figureOf(text)
  return value === undefined || value < 0 ? undefined : { text, value }
}
