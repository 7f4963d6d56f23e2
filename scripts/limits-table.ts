/** The tables of limits in docs/configuration.md: from the tables that make the flags, the metric and the log. `--write` puts them there; without, exit 1 when they are stale. */
import { readFileSync, writeFileSync } from 'node:fs'
import { limitTable } from '../apiserver/http/limits/limits.ts'
import { flagOf } from '../shared/config/option.ts'
import { limitLabel } from '../shared/limits/reached-limits.ts'

const file = new URL('../docs/configuration.md', import.meta.url)
const [begin, end] = ['<!-- limits: made by scripts/limits-table.ts -->\n', '<!-- end of limits -->']

const row = (cells: readonly string[]): string => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
const table = [
  ['limit', 'default', 'flag', 'beyond it', '`limit` in the metric'],
  ['---', '---', '---', '---', '---'],
  ...Object.entries(limitTable).map(([name, { type, default: value, shown, what, beyond }]) => [
    what,
    shown ?? type?.show?.(value) ?? '',
    type ? `\`${flagOf(name)}\`` : 'none',
    beyond,
    `\`${limitLabel(name)}\``,
  ]),
].map(row)

const text = readFileSync(file, 'utf8')
const [before, rest] = text.split(begin)
const after = rest?.slice(rest.indexOf(end))
if (before === undefined || after === undefined) throw new Error(`docs/configuration.md has no ${begin}`)
const wanted = `${before}${begin}\n${table.join('\n')}\n\n${after}`
if (process.argv.includes('--write')) writeFileSync(file, wanted)
else if (wanted !== text) {
  console.error(
    'the limits in docs/configuration.md are stale: run `node scripts/limits-table.ts --write` and commit the result',
  )
  process.exitCode = 1
}
