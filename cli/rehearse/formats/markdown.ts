import { diesWell, isBad, type Report, sentence, verdictOf, type WorkloadReport } from '../report.ts'
import { cells, columns } from './shown.ts'
import { ToldOnce } from './told-once.ts'

/** Returns the report as Markdown, for a comment on a pull request. */
export function markdownReport({ workloads }: Report): string {
  return workloads.map(workloadText).join('\n')
}

function workloadText(workload: WorkloadReport): string {
  const { name, file, manifest, rehearsals } = workload
  const title = `### ${diesWell(workload) ? '✅' : '❌'} ${escaped(name)}${file === undefined ? '' : ` (${escaped(file)})`}`
  const checks = manifest.map((finding) => `- ${isBad(finding) ? '❌' : '⚠️'} ${escaped(sentence(finding))}`)
  const told = new ToldOnce()
  const rows = rehearsals.map((rehearsal) => {
    const said = rehearsal.findings.map(
      (finding) => `${isBad(finding) ? '❌' : '⚠️'} ${told.short(sentence(finding), rehearsal.way)}`,
    )
    return row([...cells(rehearsal), said.join('; ') || `✅ ${verdictOf(rehearsal)}`])
  })
  const table = rows.length ? [row(columns), row(columns.map(() => '---')), ...rows] : []
  return `${[title, '', ...checks, ...(checks.length ? [''] : []), ...table].join('\n')}\n`
}

const row = (texts: readonly string[]): string => `| ${texts.map(escaped).join(' | ')} |`
const escaped = (text: string): string => text.replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('\n', ' ')
