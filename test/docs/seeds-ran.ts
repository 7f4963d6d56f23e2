// npm run seeds, after npm test: did every assertion that test/docs/seeds.md names run, and hold? Reads the results that tap leaves in .tap.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Proof, readRows } from './seeds-page.ts'

const results = join(import.meta.dirname, '..', '..', '.tap', 'test-results', 'test')

/** Titles and message of each assertion that held, outermost first. */
type Held = string[][]

const heldBy = new Map<string, Held>()
function heldIn(file: string): Held {
  const known = heldBy.get(file)
  if (known) return known
  const report = join(results, `${file}.test.ts.tap`)
  const held = existsSync(report) ? readHeld(readFileSync(report, 'utf8')) : []
  heldBy.set(file, held)
  return held
}

const TITLE = /^( *)# Subtest: (.*)$/
const HELD = /^( *)ok \d+ - (.*?)(?: # time=\S+)?( \{)?$/
const plain = (text: string): string => text.replace(/\\([#\\])/g, '$1')

function readHeld(report: string): Held {
  const held: Held = []
  const titles: string[] = []
  for (const line of report.split('\n')) {
    const [, indent, text, opens] = TITLE.exec(line) ?? HELD.exec(line) ?? []
    if (indent === undefined || text === undefined || / # (SKIP|TODO)\b/i.test(line)) continue
    const depth = indent.length / 4
    titles.length = depth
    if (opens || line.includes('# Subtest: ')) titles[depth] = plain(text)
    else held.push([...titles, plain(text)])
  }
  return held
}

function ran({ file, titles, message }: Proof): boolean {
  return heldIn(file).some((names) => {
    if (names.at(-1) !== message) return false
    let at = -1
    return titles.every((title) => {
      at = names.indexOf(title, at + 1)
      return at >= 0
    })
  })
}

const proofs = new Map(readRows().flatMap(({ proofs }) => proofs.map((proof) => [proof.text, proof])))
const missing = [...proofs.values()].filter((proof) => !ran(proof))
for (const { text } of missing) console.log(`did not run, or failed: ${text}`)
console.log(`test/docs/seeds.md: ${proofs.size - missing.length} of ${proofs.size} assertions ran and held`)
process.exitCode = missing.length > 0 ? 1 : 0
