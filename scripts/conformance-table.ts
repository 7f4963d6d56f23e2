/**
 * The results of upstream's conformance suite in docs/conformance.md, from scripts/conformance.json. Without arguments:
 * exit 1 when the page is stale, or a spec fails without a cause. With JUnit reports, the oldest first: says what they
 * change; with `--write` as well they are recorded, and the page is written.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { conformancePage, type Recorded, recordOf, resultsOf } from './conformance-report.ts'

const [data, file] = ['conformance.json', '../docs/conformance.md'].map((name) => new URL(name, import.meta.url))
const [begin, end] = ['<!-- results: made by scripts/conformance-table.ts -->\n', '<!-- end of results -->']
const reports = process.argv.slice(2).filter((word) => word !== '--write')
const write = process.argv.includes('--write')
const read = (place: URL | undefined): string => readFileSync(place as URL, 'utf8')

const before = JSON.parse(read(data)) as Recorded
const texts = reports.map((report) => readFileSync(report, 'utf8'))
const recorded = reports.length > 0 ? recordOf(resultsOf(texts), before) : before
const failing = ({ causes }: Recorded) => causes.flatMap(({ specs }) => specs)

if (reports.length > 0) {
  for (const [sig, { passed, failed }] of Object.entries(recorded.totals))
    console.log(`${sig}: ${passed} passed, ${failed} failed`)
  const known = new Set(failing(before))
  for (const name of failing(recorded)) console.log(`${known.has(name) ? 'fails, as recorded' : 'FAILS NOW'}: ${name}`)
}

const text = read(file)
const [start, rest] = text.split(begin)
const after = rest?.slice(rest.indexOf(end))
if (start === undefined || after === undefined) throw new Error(`docs/conformance.md has no ${begin}`)
const wanted = `${start}${begin}\n${conformancePage(recorded)}\n${after}`
const unexplained = recorded.causes.filter(({ why }) => why === '').flatMap(({ specs }) => specs)
if (write) {
  writeFileSync(data as URL, `${JSON.stringify(recorded, null, 2)}\n`)
  writeFileSync(file as URL, wanted)
} else if (reports.length === 0 && wanted !== text) {
  console.error('the results in docs/conformance.md are stale: run `node scripts/conformance-table.ts --write`')
  process.exitCode = 1
}
if (reports.length === 0 && unexplained.length > 0) {
  console.error(`scripts/conformance.json names no cause for: ${unexplained.join('; ')}`)
  process.exitCode = 1
}
