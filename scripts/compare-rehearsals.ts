// Rehearses the examples in real time and, beside that, faster; prints what was found at one pace only: node
// scripts/compare-rehearsals.ts [SCALE=20] [FLAG… FILE…]
import { spawn } from 'node:child_process'
import { globSync, writeFileSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import type { Report } from '../cli/rehearse/report.ts'
import { differingFaults, differingNotes, differingVerdicts } from '../test/harness/compare-reports.ts'

const [scale = '20', ...rest] = process.argv.slice(2)
const files = rest.some((word) => /\.ya?ml$/.test(word)) ? [] : globSync('examples/rehearse/*.yaml').sort()
const paces = { real: ['--time-scale=1', '--jobs=24'], fast: [`--time-scale=${scale}`] }
const started = Date.now()

async function rehearse(pace: keyof typeof paces): Promise<Report> {
  const args = ['bin/kubestage.mjs', 'rehearse', '-o=json', ...paces[pace], ...rest, ...files]
  const { stdout } = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const report = (await json(stdout)) as Report
  const file = join(tmpdir(), `rehearsed-${pace}.json`)
  writeFileSync(file, JSON.stringify(report, undefined, 2))
  console.log(`${pace}: ${Math.round((Date.now() - started) / 1000)} s, load ${loadavg()[0]?.toFixed(1)}, ${file}`)
  return report
}

const [real, fast] = await Promise.all([rehearse('real'), rehearse('fast')])
const faults = differingFaults(real, fast)
const verdicts = differingVerdicts(real, fast)
const notes = differingNotes(real, fast)
for (const [what, lines] of Object.entries({ 'sets of faults': faults, verdicts, 'notes alone': notes }))
  console.log([`${lines.length} other ${what}`, ...lines].join('\n  '))
const deaths = fast.workloads.flatMap(({ rehearsals }) => rehearsals)
const again = deaths.filter(({ inRealTime }) => inRealTime).length
console.log(`${fast.workloads.length} applications, ${deaths.length} deaths, ${again} of them in real time as well`)
process.exitCode = faults.length + verdicts.length > 0 ? 1 : 0
