/**
 * Proves the speed gate: plants a slow-down of so many per cent in a copy of the committed sources, and expects that
 * the gate names it; then compares the sources with themselves, and expects that it names nothing. Of a planted one,
 * only its own figure is measured.
 *
 * node test/bench/planted.ts [--figures create,get,patch,watch,start] [--percent 10] [--same 20] [--full]
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { figureNames, gate, measureAgainst, usual } from '../../bench/compare/against.ts'
import { type Verdict, verdictTable } from '../../bench/compare/verdict.ts'
import { checkoutOf, packageIn } from '../../bench/package.ts'
import { bareApi } from '../../bench/processes.ts'
import { places } from './places.ts'

const { values } = parseArgs({
  options: {
    figures: { type: 'string', default: figureNames.join() },
    percent: { type: 'string', default: '10' },
    same: { type: 'string', default: '0' },
    full: { type: 'boolean', default: false },
  },
})
const flags = { now: bareApi, then: bareApi }
const sources = packageIn(checkoutOf('HEAD'))
const compare = (now: string, figures: readonly string[]): Promise<Verdict[]> => {
  const options = { packages: { now, then: sources }, flags, figures }
  return values.full ? measureAgainst({ ...options, pairs: 5, ...usual }) : gate(options)
}

/** A loop of so many microseconds, as measured here: reading a clock would take longer than a tenth of a get. */
const spin = (microseconds: number): string =>
  `{ let x = 1; for (let i = 0; i < ${Math.round(microseconds * loopsPerMicrosecond())}; i++) x = (Math.imul(x, 1103515245) + 12345) | 0; globalThis.spun = x }`

function loopsPerMicrosecond(): number {
  const loops = 200_000_000
  const from = process.cpuUsage()
  let x = 1
  for (let i = 0; i < loops; i++) x = (Math.imul(x, 1103515245) + 12345) | 0
  const { user, system } = process.cpuUsage(from)
  return x === 0 ? 0 : loops / (user + system)
}

async function planted(name: string): Promise<string> {
  const { file, before, requests, unless } = places[name]!
  const options = { packages: { now: sources, then: sources }, flags, figures: [name], pairs: 2, rounds: 8, starts: 6 }
  const [usualTime] = await measureAgainst(options)
  const { median, unit } = usualTime!
  const microseconds = (median.then * requests * Number(values.percent) * (unit === 'ms' ? 1_000 : 1)) / 100
  const folder = checkoutOf('HEAD')
  const text = readFileSync(join(folder, file), 'utf8')
  const at = text.indexOf(before)
  if (at < 0) throw new Error(`${file} has no line that begins with "${before}"`)
  writeFileSync(
    join(folder, file),
    `${text.slice(0, at)}${unless ? `if (!(${unless})) ` : ''}${spin(microseconds)}\n${text.slice(at)}`,
  )
  return packageIn(folder)
}

let wrong = 0
function report(what: string, verdicts: readonly Verdict[], isWanted: boolean): void {
  const slower = verdicts.filter(({ word }) => word === 'slower').map(({ what }) => what)
  const isRight = slower.length > 0 === isWanted
  if (!isRight) wrong++
  console.log(`${verdictTable(verdicts)}\n${isRight ? 'right' : 'WRONG'}: ${what}: ${slower.join(', ') || 'nothing'}\n`)
}

const load = () => execFileSync('uptime', { encoding: 'utf8' }).trim()
console.log(load())
for (const name of values.figures.split(',').filter(Boolean)) {
  report(`${values.percent} % planted in ${name}`, await compare(await planted(name), [name]), true)
}
for (let i = 1; i <= Number(values.same); i++)
  report(`the same sources, run ${i}`, await compare(sources, figureNames), false)
console.log(load())
process.exitCode = wrong === 0 ? 0 : 1
