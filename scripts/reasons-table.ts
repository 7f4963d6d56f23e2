/**
 * The tables of reasons in docs/reasons.md: from shared/reasons/reason-table.ts. `--write` puts them there; without,
 * exit 1 when they are stale.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { type Row, reasonRows, reasons } from '../shared/reasons/reason-table.ts'
import { table } from './markdown.ts'

const file = new URL('../docs/reasons.md', import.meta.url)
const [begin, end] = ['<!-- reasons: made by scripts/reasons-table.ts -->\n', '<!-- end of reasons -->']

const inWords = ({ told }: Row): string => {
  if (told === null) return 'none'
  if (typeof told === 'string') return `\`${told}\``
  return told.of === 'owner' ? "that of the owner's deletion" : 'that of the request'
}

const tables = [
  table(
    ['reason', 'what a pod learns from it'],
    Object.entries(reasons).map(([name, meaning]) => [`\`${name}\``, meaning]),
  ),
  table(
    ['who', 'situation', 'reason', ''],
    reasonRows().map((one) => [one.who, one.situation, inWords(one), one.note ?? '']),
  ),
].join('\n')

const text = readFileSync(file, 'utf8')
const [before, rest] = text.split(begin)
const after = rest?.slice(rest.indexOf(end))
if (before === undefined || after === undefined) throw new Error(`docs/reasons.md has no ${begin}`)
const wanted = `${before}${begin}\n${tables}\n${after}`
if (process.argv.includes('--write')) writeFileSync(file, wanted)
else if (wanted !== text) {
  console.error(
    'the reasons in docs/reasons.md are stale: run `node scripts/reasons-table.ts --write` and commit the result',
  )
  process.exitCode = 1
}
