/** scripts/conformance-table.ts reads reports of upstream's suite, and keeps the causes of what fails. */
import t from 'tap'
import { conformancePage, type Recorded, recordOf, resultsOf } from '../../scripts/conformance-report.ts'

const report = (...cases: [name: string, status: string][]): string =>
  `<testsuites><testsuite>${cases.map(([name, status]) => `<testcase name="${name}" classname="Kubernetes e2e suite" status="${status}" time="0.1"></testcase>`).join('\n')}</testsuite></testsuites>`
const labels = '[sig-node, Conformance]'
const [quoted, second, other] = [
  `[sig-node] Probing a &#34;cat /tmp/health&#34; &amp; &#x27;more&#39; [Conformance]`,
  '[sig-node] Pods run [NodeConformance] [Conformance]',
  '[sig-apps] Jobs end [Conformance]',
]

t.test('the last result of each spec counts; others, and what was left out, do not', async (t) => {
  const results = resultsOf([
    report(
      ['[SynchronizedBeforeSuite]', 'passed'],
      [`[It] ${quoted} ${labels}`, 'failed'],
      [`[It] ${second} ${labels}`, 'passed'],
      [`[It] ${other} [sig-apps, Conformance]`, 'interrupted'],
      ['[It] [sig-node] something else [Slow] [sig-node, Slow]', 'failed'],
    ),
    report([`[It] ${quoted} ${labels}`, 'passed'], [`[It] ${second} ${labels}`, 'skipped']),
  ])
  t.same(Object.fromEntries(results), {
    '[sig-node] Probing a "cat /tmp/health" & \'more\' [Conformance]': 'passed',
    [second]: 'passed',
    [other]: 'failed',
  })
})

t.test('a spec keeps its cause; a new failure has to get one', async (t) => {
  const before: Recorded = {
    suite: '1.0.0',
    commits: 'abc',
    totals: {},
    causes: [
      { why: 'no network', specs: ['[sig-node] a [Conformance]', '[sig-node] b [Conformance]'] },
      { why: 'no image', specs: ['[sig-node] c [Conformance]'] },
    ],
  }
  const results = resultsOf([
    report(
      ['[It] [sig-node] a [Conformance] [sig-node]', 'failed'],
      ['[It] [sig-node] b [Conformance] [sig-node]', 'passed'],
      ['[It] [sig-node] c [Conformance] [sig-node]', 'passed'],
      ['[It] [sig-apps] d [Conformance] [sig-apps]', 'failed'],
    ),
  ])
  const recorded = recordOf(results, before)
  t.same(recorded.totals, { 'sig-apps': { passed: 0, failed: 1 }, 'sig-node': { passed: 2, failed: 1 } })
  t.same(recorded.causes, [
    { why: 'no network', specs: ['[sig-node] a [Conformance]'] },
    { why: '', specs: ['[sig-apps] d [Conformance]'] },
  ])
  const page = conformancePage(recorded)
  t.match(page, 'Of the 4 specs of the suite of Kubernetes 1.0.0 that ran, 2 pass and 2 fail (abc).')
  t.match(page, '| sig-node | 2 | 1 |')
  t.match(page, '**no network** (1)\n\n- `[sig-node] a [Conformance]`')
})
