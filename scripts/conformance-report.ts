/**
 * What upstream's conformance suite says of a cluster: its JUnit reports, and what is recorded of them in
 * scripts/conformance.json.
 */

/** By the spec's name, without the suite's labels. */
export type Results = Map<string, 'passed' | 'failed'>

export interface Recorded {
  /** The version of Kubernetes whose suite ran. */
  suite: string
  /** Which commits ran. */
  commits: string
  totals: Record<string, { passed: number; failed: number }>
  /** All that failed, by cause. */
  causes: Cause[]
}
export interface Cause {
  why: string
  specs: string[]
}

const testCase = /<testcase name="([^"]*)"[^>]* status="([a-z]+)"/g
const spec = /^\[It\] (\[sig-.*\[Conformance\].*?)(?: \[sig-[^\]]*\])?$/

/** One or more reports, the oldest first: of each spec the last result counts. Specs that a run left out have none. */
export function resultsOf(reports: readonly string[]): Results {
  const results: Results = new Map()
  for (const report of reports) {
    for (const [, name = '', status] of report.matchAll(testCase)) {
      const [, found] = spec.exec(plain(name)) ?? []
      if (found !== undefined && status !== 'skipped') results.set(found, status === 'passed' ? 'passed' : 'failed')
    }
  }
  return results
}

const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }
const plain = (text: string): string =>
  text.replace(/&(#x?)?(\w+);/gi, (_, numeric: string | undefined, word: string) =>
    numeric ? String.fromCodePoint(Number.parseInt(word, numeric === '#' ? 10 : 16)) : (entities[word] ?? ''),
  )

/**
 * The results in the place of recorded ones. A spec keeps its cause; one that is new has none, and an empty one is
 * returned for it.
 */
export function recordOf(results: Results, before: Recorded): Recorded {
  const totals: Recorded['totals'] = {}
  for (const [name, result] of [...results].sort()) {
    const sig = /^\[(sig-[^\]]*)\]/.exec(name)?.[1] ?? ''
    totals[sig] ??= { passed: 0, failed: 0 }
    totals[sig][result]++
  }
  const open = new Set([...results].filter(([, result]) => result === 'failed').map(([name]) => name))
  const causes = before.causes.map(({ why, specs }) => ({ why, specs: specs.filter((name) => open.delete(name)) }))
  const unexplained = { why: '', specs: [...open].sort() }
  return { ...before, totals, causes: [...causes, unexplained].filter(({ specs }) => specs.length > 0) }
}

/** The generated part of docs/conformance.md. */
export function conformancePage({ suite, commits, totals, causes }: Recorded): string {
  const rows = Object.entries(totals).map(([sig, { passed, failed }]) => [sig, passed, failed])
  const sum = (which: 'passed' | 'failed') => Object.values(totals).reduce((all, one) => all + one[which], 0)
  const [passed, failed] = [sum('passed'), sum('failed')]
  const table = [['SIG', 'passed', 'failed'], ['---', '---', '---'], ...rows, ['**all**', passed, failed]]
  const list = causes.flatMap(({ why, specs }) => [
    `**${why}** (${specs.length})`,
    '',
    ...specs.map((name) => `- \`${name}\``),
    '',
  ])
  return [
    `Of the ${passed + failed} specs of the suite of Kubernetes ${suite} that ran, ${passed} pass and ${failed} fail (${commits}).`,
    '',
    ...table.map((cells) => `| ${cells.join(' | ')} |`),
    '',
    ...(list.length > 0 ? ['### What fails, and why', '', ...list] : []),
  ].join('\n')
}
