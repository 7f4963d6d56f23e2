import type { Verdict } from './judge.ts'
import type { Rehearsal, WayResult } from './rehearse.ts'

export const formats = ['text', 'json', 'junit', 'markdown'] as const
export type Format = (typeof formats)[number]

const heads = ['WAY', 'REASON TOLD', 'STOPPED IN', 'EXIT', 'LOST', 'VERDICT']

/** What came of all of them, for people or for programs. */
export function report(rehearsals: readonly Rehearsal[], format: Format): string {
  return { text, json, junit, markdown }[format](rehearsals)
}

const json = (rehearsals: readonly Rehearsal[]): string => `${JSON.stringify(rehearsals, undefined, 2)}\n`

function cells({ title, reason, used, gracePeriodSeconds, exitCodes, requests, verdicts }: WayResult): string[] {
  return [
    title,
    reason ?? '-',
    used === undefined ? '-' : `${used} of ${gracePeriodSeconds}s`,
    exitCodes.map((code) => code ?? '?').join(',') || '-',
    requests ? `${requests.lost}/${requests.sent}` : '-',
    verdicts.map((verdict) => `${verdict.good ? 'good' : 'BAD'}: ${whole(verdict)}`).join('; '),
  ]
}

const said = ({ container, text }: Verdict): string => `${container ? `${container}: ` : ''}${text}`
const whole = (verdict: Verdict): string => said(verdict) + (verdict.detail ? ` (${verdict.detail})` : '')

/** Each remedy once. */
function remedies({ findings, results }: Rehearsal): string[] {
  const verdicts = results.flatMap((result) => result.verdicts)
  return [
    ...new Set([
      ...findings.map(({ container, problem, remedy }) => `${container}: ${problem}: ${remedy}`),
      ...verdicts.flatMap((verdict) => (verdict.remedy ? [`${said(verdict)}: ${verdict.remedy}`] : [])),
    ]),
  ]
}

function text(rehearsals: readonly Rehearsal[]): string {
  return rehearsals
    .map((rehearsal) => {
      const lines = [heads, ...rehearsal.results.map(cells)]
      const widths = heads.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)))
      const table = lines.map((line) =>
        line
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join('   ')
          .trimEnd(),
      )
      const verdict = rehearsal.good ? 'dies well' : 'does not die well'
      const advice = remedies(rehearsal).map((line) => `- ${line}`)
      const end = advice.length > 0 ? ['', ...advice, ''] : ['']
      return [`${rehearsal.workload} ${verdict}`, '', ...table, ...end].join('\n')
    })
    .join('\n')
}

function markdown(rehearsals: readonly Rehearsal[]): string {
  const row = (line: string[]): string => `| ${line.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return rehearsals
    .map((rehearsal) =>
      [
        `## ${rehearsal.workload}: ${rehearsal.good ? 'dies well' : 'does not die well'}`,
        '',
        row(heads.map((head) => head.toLowerCase())),
        row(heads.map(() => '---')),
        ...rehearsal.results.map((result) => row(cells(result))),
        '',
        ...remedies(rehearsal).map((line) => `- ${line}`),
        '',
      ].join('\n'),
    )
    .join('\n')
}

function junit(rehearsals: readonly Rehearsal[]): string {
  const suites = rehearsals.map(({ workload, findings, results }) => {
    const cases = [
      testcase(
        'manifest',
        findings.map(({ container, problem, remedy }) => `${container}: ${problem}; ${remedy}`),
      ),
      ...results.map(({ title, verdicts }) =>
        testcase(
          title,
          verdicts.flatMap((verdict) =>
            verdict.good ? [] : [[whole(verdict), verdict.remedy].filter(Boolean).join('; ')],
          ),
        ),
      ),
    ]
    const failures = cases.filter(({ failed }) => failed).length
    return `  <testsuite name="${xmlText(workload)}" tests="${cases.length}" failures="${failures}">\n${cases.map(({ xml }) => xml).join('')}  </testsuite>\n`
  })
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n${suites.join('')}</testsuites>\n`
}

function testcase(name: string, problems: string[]): { failed: boolean; xml: string } {
  const failures = problems.map((problem) => `      <failure message="${xmlText(problem)}"/>\n`).join('')
  return { failed: problems.length > 0, xml: `    <testcase name="${xmlText(name)}">\n${failures}    </testcase>\n` }
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', '\n': '&#10;' }
const xmlText = (value: string): string => value.replace(/[&<>"\n]/g, (character) => entities[character] ?? '')
