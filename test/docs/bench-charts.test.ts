/** The charts of docs/performance.md and docs/scale.md show what their tables say. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { chartOf, drawnCharts } from '../../bench/charts/charts.ts'
import { sectionOf, tablesOf } from '../../bench/charts/tables.ts'
import { comparisonTable, table } from '../../bench/report.ts'
import { repository } from '../harness/cluster.ts'

const docs = join(repository, 'docs')
const chart = { name: 'x', page: 'x.md', part: 'bench', title: 'A <chart>', columns: [2, 3] as const }
const inPart = (text: string): string => `# A page\n\n<!-- bench: begin -->\n${text}\n<!-- bench: end -->\n`

/** What a chart says: of each row its name, its texts, and how long its bars are. */
const said = (svg: string) =>
  [...svg.matchAll(/<g data-row="([^"]*)">(.*?)<\/g>/g)].map(([, what, row = '']) => ({
    what,
    texts: [...row.matchAll(/<text class="soft"[^>]*>([^<]*)/g)].map(([, text]) => text).slice(1),
    lengths: [...row.matchAll(/<rect [^>]*width="([\d.]+)"/g)].map(([, length]) => Number(length)),
  }))

t.test('a chart has the rows of the table that have both figures, with the same texts', (t) => {
  const text = table([
    { what: 'get & put', unit: '/s', ours: 25_353, ceiling: 12_676.5, goal: 0.65 },
    { what: 'start', unit: 'ms', ours: 243, limit: 1000, smallerIsBetter: true },
    { what: 'hook', unit: 'ms', ours: 1, ceiling: 4, smallerIsBetter: true },
  ])
  const svg = chartOf(inPart(text), chart)
  const [get, hook, ...rest] = said(svg)
  t.match(get, { what: 'get &amp; put', texts: ['25,353', '12,677'] })
  t.match(hook, { what: 'hook', texts: ['1.00', '4.00'] })
  t.equal(rest.length, 0)
  for (const { lengths } of [get!, hook!]) t.equal(Math.max(...lengths), 400, 'the greater is as long as there is room')
  t.ok(Math.abs(get!.lengths[1]! / get!.lengths[0]! - 12_677 / 25_353) < 0.001)
  t.match(svg, /\/s, more is better.*ms, less is better/s)
  t.match(svg, '>A &lt;chart></text>')
  t.match(svg, /Kubestage<.*ceiling</s)
  const cpu = { ours: 26.4, real: 94.3 }
  const compared = comparisonTable(
    [{ what: 'delay', unit: 'ms', figure: { ours: -2.5, real: 3 }, cpuMicroseconds: cpu }],
    'kube-apiserver',
  )
  t.same(said(chartOf(inPart(compared), chart)), [], 'a figure below zero is no length')
  const times = chartOf(inPart(compared), { ...chart, columns: [5, 6], unit: 'µs of CPU time' })
  t.match(said(times), [{ what: 'delay', texts: ['26.4', '94.3'] }])
  t.match(times, />kube-apiserver</)
  t.match(chartOf(inPart(''), chart), 'no figures yet')
  t.match(chartOf('no part', chart), 'no figures yet')
  t.end()
})

t.test('those of the docs equal their tables, and each is shown', (t) => {
  const pages = ['performance.md', 'scale.md'].map((name) => readFileSync(join(docs, name), 'utf8'))
  const cells = pages.flatMap((page) =>
    ['bench', 'real', 'etcd'].flatMap((part) => tablesOf(sectionOf(page, part)).flatMap(({ rows }) => rows)),
  )
  for (const [name, drawn] of drawnCharts(docs)) {
    t.equal(readFileSync(join(docs, 'pictures', `${name}.svg`), 'utf8'), drawn, `${name}: scripts/pictures.ts --write`)
    t.ok(
      pages.some((page) => page.includes(`](pictures/${name}.svg)`)),
      `${name} is shown`,
    )
    const rows = said(drawn)
    t.ok(rows.length > 3, name)
    for (const { what, texts } of rows)
      t.ok(
        cells.some(([first, ...others]) => first === what && texts.every((text) => others.includes(text!))),
        `${name}: ${what}`,
      )
  }
  t.end()
})
