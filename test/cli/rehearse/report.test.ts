/** How `kubestage rehearse` tells what it found, and how two such reports are compared. */
import t from 'tap'
import { junitReport } from '../../../cli/rehearse/formats/junit.ts'
import { markdownReport } from '../../../cli/rehearse/formats/markdown.ts'
import { textReport } from '../../../cli/rehearse/formats/text.ts'
import { progressOn } from '../../../cli/rehearse/progress.ts'
import { diesWell, type Finding, type Rehearsal, type Report } from '../../../cli/rehearse/report.ts'
import { differingFaults, differingNotes, differingVerdicts } from '../../harness/compare-reports.ts'

t.test('a report in each format', (t) => {
  const bad = {
    fault: 'no-term-handler',
    severity: 'bad',
    says: 'ignores TERM',
    remedy: 'use "exec" & <init> | form',
  } as const
  const report: Report = {
    timeScale: 20,
    workloads: [
      {
        name: 'pod/web',
        file: 'web.yaml',
        manifest: [{ fault: 'shell-swallows-term', severity: 'note', container: 'main', says: 'a shell' }],
        rehearsals: [
          { way: 'delete', hook: 'none', usedSeconds: 30.1, graceSeconds: 30, exitCodes: [137], findings: [bad] },
          {
            way: 'update',
            hook: 'Succeeded',
            reason: 'Update',
            usedSeconds: 1,
            graceSeconds: 30,
            exitCodes: [0],
            requests: { sent: 9, lost: 1, cut: 1, slowestSeconds: 0.1 },
            findings: [],
          },
        ],
      },
    ],
  }
  t.notOk(diesWell(report.workloads[0]!))
  const text = textReport(report)
  t.match(text, /delete +no hook +30\.1 of 30 s +137 +– +ignores TERM/)
  t.match(text, /update +Update +1\.0 of 30 s +0 +2 of 9 +dies well/)
  t.match(text, /→ ignores TERM: use "exec" & <init> \| form \(delete\)/)
  t.notMatch(text, 'real time')
  const [workload] = report.workloads
  const [first, second] = workload!.rehearsals
  const rehearsals = [
    { ...first!, inRealTime: true as const },
    { ...second!, inDoubt: true as const },
  ]
  const fast = textReport({ timeScale: 20, workloads: [{ ...workload!, rehearsals }] })
  t.match(fast, /^1 death is tried in real time as well: /m)
  t.match(fast, /^1 death is in doubt: a second that a program waits by itself counts as 20\. .* KUBESTAGE_TIME_SCALE/m)
  t.match(
    markdownReport(report),
    /\| delete \| no hook \| 30\.1 of 30 s \| 137 \| – \| ❌ ignores TERM: .*&lt;init> \\\| form \|/,
  )
  const junit = junitReport(report)
  t.match(junit, '<testsuite name="pod/web" file="web.yaml" tests="3" failures="1">')
  t.match(
    junit,
    '<failure type="no-term-handler" message="ignores TERM: use &quot;exec&quot; &amp; &lt;init&gt; | form"/>',
  )
  t.match(junit, '<system-out>main: a shell</system-out>')
  t.end()
})

t.test('a long verdict is told once, for the first way that has it', (t) => {
  const says = `its preStop hook fails (command 'curl -sf http://localhost:9000/drain' exited with 7: no route to host)`
  const bad = { fault: 'hook-fails', severity: 'bad', says, remedy: 'fix the hook' } as const
  const death = { hook: 'Failed' as const, usedSeconds: 1, graceSeconds: 30, exitCodes: [0] }
  const rehearsals: Rehearsal[] = ['delete', 'update', 'eviction'].map((way) => ({ ...death, way, findings: [bad] }))
  const report: Report = { timeScale: 1, workloads: [{ name: 'pod/web', manifest: [], rehearsals }] }
  const text = textReport(report)
  t.equal(text.split(says).length - 1, 2, 'in the table and in the summary')
  t.match(text, /update +– +1\.0 of 30 s +0 +– +as delete\n/)
  t.match(text, `${says}: fix the hook (delete, update, eviction)`)
  const markdown = markdownReport(report)
  t.equal(markdown.split(says).length - 1, 1)
  t.match(markdown, '| eviction | – | 1.0 of 30 s | 0 | – | ❌ as delete |')
  const written: string[] = []
  const write = (text: string) => written.push(text) > 0
  const progress = progressOn({ isTTY: false, write } as unknown as NodeJS.WriteStream)
  for (const workload of ['pod/web', 'pod/db'])
    for (const rehearsal of rehearsals) progress.tell({ workload, rehearsal })
  t.same(
    written,
    ['pod/web', 'pod/db'].flatMap((name) => [
      `${name} delete: bad: ${says}\n`,
      `${name} update: bad: as delete\n`,
      `${name} eviction: bad: as delete\n`,
    ]),
  )
  t.equal(junitReport(report).split('its preStop hook fails').length - 1, 3, 'programs read each')
  t.end()
})

t.test('each death is told: on a line of its own, or on a terminal in place of the one before', (t) => {
  const bad: Finding = { fault: 'exits-143', severity: 'bad', says: 'exits 143, as if TERM had killed it' }
  const note: Finding = { fault: 'slow-stop', severity: 'note', says: 'needs 9 s' }
  const told = (isTTY: boolean): string[] => {
    const written: string[] = []
    const write = (text: string) => written.push(text) > 0
    const progress = progressOn({ isTTY, columns: 30, write } as unknown as NodeJS.WriteStream)
    const tell = (way: string, more: Partial<Rehearsal>): void =>
      progress.tell({ workload: 'pod/web', rehearsal: { way, hook: 'none', exitCodes: [0], findings: [], ...more } })
    tell('delete', { findings: [bad, note] })
    tell('delete', { findings: [note], inRealTime: true })
    tell('force', {})
    tell('force', { exitCodes: [137] })
    progress.end()
    return written
  }
  t.same(told(false), [
    'pod/web delete: bad: exits 143, as if TERM had killed it\n',
    'pod/web delete in real time: needs 9 s\n',
    'pod/web force: dies well\n',
    'pod/web force: is killed: too little time to tell more\n',
  ])
  t.same(told(true), [
    '\r\u001b[Kpod/web delete: bad: exits 14',
    '\r\u001b[Kpod/web delete in real time: ',
    '\r\u001b[Kpod/web force: dies well',
    '\r\u001b[Kpod/web force: is killed: too',
    '\r\u001b[K',
  ])
  t.end()
})

t.test('two reports of the same applications', (t) => {
  const death = (way: string, more: Partial<Rehearsal> = {}): Rehearsal => ({
    way,
    hook: 'none',
    exitCodes: [0],
    findings: [],
    ...more,
  })
  const report = (...rehearsals: Rehearsal[]): Report => ({
    timeScale: 1,
    workloads: [{ name: 'pod/web', manifest: [], rehearsals }],
  })
  const slow = (severity: 'bad' | 'note', says = 'needs 9 s'): Finding => ({ fault: 'slow-stop', severity, says })
  const all = (one: Report, other: Report) => ({
    faults: differingFaults(one, other),
    verdicts: differingVerdicts(one, other),
    notes: differingNotes(one, other),
  })
  const same = { faults: [], verdicts: [], notes: [] }
  const one = report(death('delete', { findings: [slow('bad')] }), death('force'))
  const inOtherWords = report(death('delete', { findings: [slow('bad', 'needs 8 s')] }), death('force'))
  t.same(all(one, inOtherWords), same, 'numbers may differ')
  const milder = report(death('delete', { findings: [slow('note')] }), death('force', { exitCodes: [137] }))
  t.same(all(one, milder), {
    faults: ['pod/web: slow-stop / dies well'],
    verdicts: ['pod/web delete: slow-stop / dies well'],
    notes: ['pod/web force: dies well, exit 0 / dies well, exit 137'],
  })
  const fewer = report(death('delete', { findings: [slow('bad')] }))
  t.same(all(one, fewer), { ...same, verdicts: ['pod/web force: dies well / nothing'] })
  t.same(all(fewer, one), { ...same, verdicts: ['pod/web force: nothing / dies well'] })
  t.end()
})
