/**
 * The tables of limits in docs/configuration.md: from the tables that make the flags, the metric and the log. `--write`
 * puts them there; without, exit 1 when they are stale.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { limitTable } from '../apiserver/http/limits/limits.ts'
import { type ContainerLimitName, containerLimits } from '../kubelet/container-limits.ts'
import { containerOptions } from '../kubelet/container-options.ts'
import { flagOf, kebab } from '../shared/config/option.ts'
import { code, table } from './markdown.ts'

const file = new URL('../docs/configuration.md', import.meta.url)
const end = '<!-- end of limits -->'

const inMetric = '`limit` in the metric'

const tables = {
  clients: table(
    ['limit', 'default', 'flag', 'beyond it', inMetric],
    Object.entries(limitTable).map(([name, { type, default: value, shown, what, beyond }]) => [
      what,
      shown ?? type?.show?.(value) ?? '',
      type ? code(flagOf(name)) : 'none',
      beyond,
      code(kebab(name)),
    ]),
  ),
  containers: table(
    ['limit', 'default', 'flag', 'beyond it', 'counted', inMetric],
    Object.entries(containerLimits).map(([name, { what, beyond, counted }]) => [
      what,
      String(containerOptions[name as ContainerLimitName].default),
      code(flagOf(name)),
      beyond,
      counted,
      code(kebab(name)),
    ]),
  ),
}

let wanted = readFileSync(file, 'utf8')
const text = wanted
for (const [name, made] of Object.entries(tables)) {
  const begin = `<!-- limits of ${name}: made by scripts/limits-table.ts -->\n`
  const [before, rest] = wanted.split(begin)
  const after = rest?.slice(rest.indexOf(end))
  if (before === undefined || after === undefined) throw new Error(`docs/configuration.md has no ${begin}`)
  wanted = `${before}${begin}\n${made}\n${after}`
}
if (process.argv.includes('--write')) writeFileSync(file, wanted)
else if (wanted !== text) {
  console.error(
    'the limits in docs/configuration.md are stale: run `node scripts/limits-table.ts --write` and commit the result',
  )
  process.exitCode = 1
}
