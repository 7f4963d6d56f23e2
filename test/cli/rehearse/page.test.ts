/** `kubestage rehearse -o html`: the page as text, and in a real browser. */
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { earlierOf, readEarlier } from '../../../cli/rehearse/earlier.ts'
import { htmlReport } from '../../../cli/rehearse/formats/html/page.ts'
import { jsonReport } from '../../../cli/rehearse/formats/json.ts'
import type { Finding, Rehearsal, Report } from '../../../cli/rehearse/report.ts'
import { WITNESS } from '../../../cli/rehearse/verdict/witness.ts'
import type { TerminatedContainer, Termination } from '../../../shared/api/termination.ts'
import type { RecordedLoad } from '../../../shared/record/format.ts'
import { noBrowser, startBrowser, violations } from '../../harness/browser.ts'
import { scratchFolder } from '../../harness/scratch.ts'
import { skipOrFail } from '../../harness/skip.ts'

const time = (seconds: number): string => new Date(Date.UTC(2026, 0, 1) + seconds * 1000).toISOString()
const bad: Finding = {
  fault: 'no-term-handler',
  severity: 'bad',
  container: 'main',
  says: 'ignores TERM',
  remedy: 'add a handler',
}
const note: Finding = { fault: 'reason-unheard', severity: 'note', says: 'the reason is not used' }
const container: TerminatedContainer = {
  name: 'main',
  verdict: 'killed after 10 s',
  verdictType: 'NoHandler',
  gracePeriodSeconds: 10,
  used: '10.0s',
  exitCode: 137,
  steps: [
    { name: 'PreStop', startTime: time(0), endTime: time(2), outcome: 'Succeeded', output: 'draining <now>' },
    { name: 'SIGTERM', startTime: time(2), endTime: time(10), outcome: 'Default' },
    { name: 'SIGKILL', startTime: time(10), endTime: time(10) },
  ],
}
const termination: Termination = {
  metadata: { name: 'web-delete.1', namespace: 'default' },
  podName: 'web-delete',
  podUID: 'uid-1',
  nodeName: 'node-1',
  verdict: 'killed after 10 s',
  gracePeriodSeconds: 10,
  used: '10.0s',
  startTime: time(0),
  endTime: time(10),
  phase: 'Failed',
  reason: 'Update',
  requests: [{ user: 'kubernetes-admin', time: time(0), reason: 'Update' }],
  containers: [container, { ...container, name: WITNESS }],
}
const loads: RecordedLoad[] = [1, 9].map((seconds) => ({
  ...{ type: 'LOAD', at: time(seconds), seconds: 0.2, target: 'pod/web-delete', namespace: 'default' },
  ...{ answered: 4, lost: seconds > 5 ? 2 : 0, cut: 0, slowestMs: 3 },
}))
const died = (way: string, more: Partial<Rehearsal> = {}): Rehearsal => ({
  way,
  hook: 'none',
  exitCodes: [0],
  usedSeconds: 1.2,
  graceSeconds: 10,
  findings: [],
  ...more,
})
const report: Report = {
  time: time(0),
  timeScale: 20,
  workloads: [
    {
      name: 'pod/web',
      manifest: [note],
      rehearsals: [
        died('delete', { usedSeconds: 10, exitCodes: [137], findings: [bad], seen: { termination, loads } }),
        died('update', { requests: { sent: 9, lost: 1, cut: 1, slowestSeconds: 0.1 } }),
        died('eviction', { findings: [bad, note] }),
      ],
    },
    { name: 'job/pi', manifest: [], rehearsals: [died('update', { inDoubt: true })] },
  ],
}
const earlier = (label: string, at: string, ...rehearsals: Rehearsal[]) =>
  earlierOf(
    label,
    JSON.parse(jsonReport({ ...report, time: at, workloads: [{ ...report.workloads[0]!, rehearsals }] })),
  )!

t.test('the page: a matrix whose cells open the deaths, and remedies', (t) => {
  const page = htmlReport(report)
  for (const [, id] of page.matchAll(/href="#([^"]+)"/g)) t.ok(page.includes(` id="${id}"`), `#${id} is there`)
  const ids = [...page.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id)
  t.equal(new Set(ids).size, ids.length, 'each id once')
  t.equal([...page.matchAll(/<section class="panel/g)].length, 6, 'a panel for each death and each manifest')
  t.match(page, /<th scope="row">eviction<span class="soft">evicted through the API/)
  t.match(page, '1 of 2 do not die well. Rehearsed 2026-01-01 00:00 UTC, in time 20 times faster.')
  t.match(page, /<p class="remedy">add a handler<\/p><span class="soft">seen in <a href="#w0-0">delete<\/a>, <a/)
  t.match(page, /<section class="panel first" id="w0-0"/, 'the first fault is open')
  for (const words of [
    'data-bar="hook"',
    'data-bar="kill"',
    'data-bar="lost"',
    'kubernetes-admin asks to delete it, reason Update',
  ])
    t.ok(page.includes(words), words)
  t.ok(page.includes('<pre>draining &lt;now></pre>'), 'what the hook printed')
  t.notMatch(page, WITNESS)
  t.notMatch(
    page,
    /<script|\sstyle=|https?:\/\/(?!www\.w3\.org\/2000\/svg)/,
    'no script, no style outside of its place',
  )
  t.notMatch(page, 'id="trend"')
  const [, style = ''] = /<style>([\s\S]*?)<\/style>/.exec(page) ?? []
  t.ok(page.includes(`style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`), 'its own style')
  t.equal(htmlReport(report), page, 'the same each time')
  t.notMatch(jsonReport(report), 'containers', 'JSON has no records')
  t.end()
})

t.test('a trend over earlier reports', (t) => {
  const page = htmlReport(report, [
    earlier('9f2c1e', time(-7200), died('delete'), died('update', { inDoubt: true })),
    earlier('a81b77', time(-3600), died('delete', { findings: [bad], usedSeconds: 9.9 })),
  ])
  const trend = page.slice(page.indexOf('id="trend"'))
  t.match(trend, /9f2c1e.*2025-12-31 22:00 UTC.*a81b77.*this report/s)
  const [row = ''] = /<th scope="row">delete<.*?<\/tr>/s.exec(trend) ?? []
  const seen = [...row.matchAll(/class="mark (\w+)"/g)].map(([, status]) => status)
  t.same(seen, ['well', 'bad', 'bad'])
  t.match(row, /1\.2 s.*9\.9 s.*10\.0 s/s)
  t.match(/<th scope="row">update<.*?<\/tr>/s.exec(trend)?.[0], /mark doubt.*–.*mark well/s, 'one did not try it')
  t.end()
})

t.test('earlier reports are files or patterns; what is no report is refused', async (t) => {
  const folder = scratchFolder(t, 'earlier')
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  const late = file('a.json', jsonReport({ ...report, time: time(9) }))
  file('b.json', jsonReport({ ...report, time: time(1) }))
  const labels = async (...patterns: string[]) => (await readEarlier(patterns)).map(({ label }) => label)
  t.same(await labels(late, join(folder, '?.json')), ['b', 'a'], 'each once, by time')
  file('0.json', jsonReport({ ...report, time: undefined }))
  t.same(await labels(join(folder, '?.json')), ['0', 'a', 'b'], 'one says no time: as given')
  t.same(await labels(join(folder, 'none-*.json')), [])
  await t.rejects(readEarlier([join(folder, 'none.json')]), { message: /none\.json: no such file$/ })
  await t.rejects(readEarlier([folder]), { message: /cannot be read: it is a folder$/ })
  for (const text of ['', '{', '[]', '{"workloads": {}}', '{"workloads": [{"name": "a"}]}', 'null'])
    await t.rejects(readEarlier([file('bad.json', text)]), {
      message: /bad\.json is not a report of kubestage rehearse/,
    })
})

t.test('in a browser: links open the deaths, every text is text, and it is accessible', async (t) => {
  if (noBrowser) return skipOrFail(t, noBrowser)
  const folder = scratchFolder(t, 'page')
  const browser = await startBrowser(t)
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 900 } })).newPage()
  const told: string[] = []
  page.on('console', (message) => told.push(message.text()))
  const show = async (made: Report, ...before: Parameters<typeof earlierOf>[1][]): Promise<void> => {
    const file = join(folder, 'report.html')
    writeFileSync(
      file,
      htmlReport(
        made,
        before.map((each, index) => earlierOf(`<b>${index}</b>`, each)!),
      ),
    )
    await page.goto('about:blank')
    await page.goto(pathToFileURL(file).href)
  }
  await show(report, report)
  t.equal(await page.locator('.panel:visible').count(), 1)
  t.ok(await page.getByRole('heading', { name: 'pod/web: delete' }).isVisible(), 'the first fault')
  await page.locator('a[href="#w0-1"]').first().click()
  await page.getByRole('heading', { name: 'pod/web: update' }).waitFor()
  t.notOk(await page.getByRole('heading', { name: 'pod/web: delete' }).isVisible(), 'one at a time')
  await page.locator('a[href="#w0-0"]').first().click()
  t.ok(await page.getByRole('img', { name: /^How web-delete ended/ }).isVisible())
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    t.same(await violations(page), [], colorScheme)
  }
  await page.setViewportSize({ width: 360, height: 700 })
  t.ok(await page.evaluate('document.documentElement.scrollWidth <= 360'), 'it fits 360 pixels')
  await show(hostile(report), hostile(report))
  t.equal(await page.evaluate("document.querySelectorAll('img, script, iframe, b b').length"), 0)
  t.notOk(await page.evaluate('globalThis.hurt'), 'nothing was executed')
  t.match(await page.getByRole('main').innerText(), '<img src=x onerror=')
  t.notMatch(await page.content(), '\u202e')
  t.ok(await page.evaluate('document.documentElement.scrollWidth <= 360'), 'long words are broken')
  t.same(told, [], 'nothing is refused by its own policy')
})

const evil = `<img src=x onerror="globalThis.hurt=1">\u202e</style></script><script>globalThis.hurt=1</script>${'x'.repeat(400)}`
const kept = new Set(['severity', 'time', 'startTime', 'endTime', 'hook'])
/** With every text hostile that is no time. */
const hostile = (value: Report): Report =>
  JSON.parse(JSON.stringify(value, (key, each) => (typeof each === 'string' && !kept.has(key) ? evil + each : each)))
