import { styleText } from 'node:util'
import { diesWell, type Finding, isBad, type Report, sentence, verdictOf, type WorkloadReport } from '../report.ts'
import { cells, columns } from './shown.ts'
import { ToldOnce } from './told-once.ts'

type Paint = (style: Parameters<typeof styleText>[0], text: string) => string
const painted: Paint = (style, text) => styleText(style, text, { stream: process.stdout })

/** A table for each workload, and what to do about it. */
export function textReport({ timeScale, workloads }: Report): string {
  const bad = workloads.filter((workload) => !diesWell(workload)).length
  const end = bad === 0 ? 'All die well.' : `${bad} of ${workloads.length} do not die well.`
  const deaths = workloads.flatMap(({ rehearsals }) => rehearsals)
  const remarks = [
    remark(
      deaths.filter(({ inRealTime }) => inRealTime).length,
      'tried in real time as well',
      'faster time told too little',
    ),
    remark(
      deaths.filter(({ inDoubt }) => inDoubt).length,
      'in doubt',
      `a second that a program waits by itself counts as ${timeScale}. Let it divide by KUBESTAGE_TIME_SCALE, raise --real-time-limit, or try without --time-scale`,
    ),
  ]
  return `${workloads.map(workloadText).join('\n')}\n${painted('bold', end)}\n${remarks.join('')}`
}

const remark = (count: number, what: string, why: string): string =>
  count === 0 ? '' : `${count} ${count === 1 ? 'death is' : 'deaths are'} ${what}: ${why}.\n`

function workloadText(workload: WorkloadReport): string {
  const { name, file, manifest, rehearsals } = workload
  const told = new ToldOnce()
  const rows = rehearsals.map((rehearsal) => [...cells(rehearsal), told.short(verdictOf(rehearsal), rehearsal.way)])
  const widths = columns.map((column, index) => Math.max(column.length, ...rows.map((row) => row[index]?.length ?? 0)))
  const line = (row: readonly string[]): string =>
    `  ${row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('   ')
      .trimEnd()}`
  const head = `${painted('bold', name)}${file === undefined ? '' : ` (${file})`}`
  const table = rehearsals.length
    ? [line(columns), ...rehearsals.map((rehearsal, i) => colour(rehearsal.findings, line(rows[i] ?? [])))]
    : []
  const sayings = summary(workload).map((saying) => `  ${saying}`)
  return `${[head, ...manifest.map((finding) => `  ${mark(finding)} ${sentence(finding)}`), ...table, ...sayings].join('\n')}\n`
}

const mark = (finding: Finding): string => (isBad(finding) ? painted('red', 'bad ') : painted('yellow', 'note'))

function colour(findings: readonly Finding[], line: string): string {
  if (findings.some(isBad)) return painted('red', line)
  return findings.length ? painted('yellow', line) : line
}

/** Lists each fault once, with the ways in which it was seen. */
function summary(workload: WorkloadReport): string[] {
  if (diesWell(workload)) return workload.rehearsals.length > 0 ? [`${painted('green', '✓')} dies well`] : []
  const kinds = new Map<string, { first: Finding; seenIn: string[] }>()
  for (const { way, findings } of workload.rehearsals) {
    for (const finding of findings.filter(isBad)) {
      const kind = `${finding.fault} ${finding.container}`
      const known = kinds.get(kind) ?? { first: finding, seenIn: [] }
      kinds.set(kind, { ...known, seenIn: [...known.seenIn, way] })
    }
  }
  return [...kinds.values()].map(
    ({ first, seenIn }) => `${painted('red', '→')} ${sentence(first)} (${seenIn.join(', ')})`,
  )
}
