import { type Finding, isBad, type Rehearsal, type Report, sentence, type WorkloadReport } from '../report.ts'

/** Returns the report as JUnit XML: a suite for each workload, with a case for its manifest and for each way. */
export function junitReport({ workloads }: Report): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="kubestage rehearse">\n${workloads.map(suite).join('')}</testsuites>\n`
}

function suite({ name, file, manifest, rehearsals }: WorkloadReport): string {
  const all = [manifest, ...rehearsals.map(({ findings }) => findings)]
  const failures = all.filter((findings) => findings.some(isBad)).length
  const cases = [testCase(name, 'manifest', manifest), ...rehearsals.map((rehearsal) => wayCase(name, rehearsal))]
  const at = file === undefined ? '' : ` file=${quoted(file)}`
  return `  <testsuite name=${quoted(name)}${at} tests="${all.length}" failures="${failures}">\n${cases.join('')}  </testsuite>\n`
}

const wayCase = (workload: string, { way, findings, usedSeconds }: Rehearsal): string =>
  testCase(workload, way, findings, usedSeconds)

function testCase(workload: string, name: string, findings: readonly Finding[], seconds?: number): string {
  const time = seconds === undefined ? '' : ` time="${seconds.toFixed(3)}"`
  const head = `    <testcase classname=${quoted(workload)} name=${quoted(name)}${time}`
  const failures = findings
    .filter(isBad)
    .map((finding) => `      <failure type=${quoted(finding.fault)} message=${quoted(sentence(finding))}/>\n`)
  const notes = findings.filter((finding) => !isBad(finding)).map(sentence)
  const output = notes.length ? `      <system-out>${escaped(notes.join('\n'))}</system-out>\n` : ''
  const content = `${failures.join('')}${output}`
  return content ? `${head}>\n${content}    </testcase>\n` : `${head}/>\n`
}

const quoted = (text: string): string => `"${escaped(text).replaceAll('"', '&quot;').replaceAll('\n', '&#10;')}"`
/** XML knows no way to say control characters; `\p{Cc}` but for tab and line ends. */
const escaped = (text: string): string =>
  text
    .replace(/(?![\t\n\r])\p{Cc}/gu, '')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
