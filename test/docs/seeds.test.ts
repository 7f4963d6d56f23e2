/** docs/seeds.md is held to its word: every row is complete, and whatever it names as proof exists. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'

const root = path.join(import.meta.dirname, '..')
const page = readFileSync(path.join(root, '..', 'docs', 'seeds.md'), 'utf8')
const rows = page.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| it says '))

const recordingsFile = path.join(root, 'golden', 'kubelet', 'observed.json')
const recordings = new Set(
  (JSON.parse(readFileSync(recordingsFile, 'utf8')) as { name: string }[]).map(({ name }) => name),
)
const answersFolder = path.join(root, 'golden', 'api')
const answers = readdirSync(answersFolder).map((file) => readFileSync(path.join(answersFolder, file), 'utf8'))
const later = readFileSync(path.join(root, 'golden', 'later.json'), 'utf8')

/** Undefined: it is there, and agrees. */
function problemWith(proof: string): string | undefined {
  const [file = '', test] = proof.split(' › ')
  if (test !== undefined) return problemWithTest(file, test)
  const [kind, ...rest] = proof.split('/')
  const name = rest.join('/')
  if (later.includes(JSON.stringify(name))) return 'is not equal yet'
  if (kind === 'scenarios') return existsSync(path.join(root, 'scenarios', `${name}.txt`)) ? undefined : 'is not there'
  if (kind === 'recordings') return recordings.has(name) ? undefined : 'was not recorded'
  if (kind === 'answers')
    return answers.some((text) => text.includes(JSON.stringify(name))) ? undefined : 'was not recorded'
  return 'is no kind of proof'
}

function problemWithTest(file: string, test: string): string | undefined {
  const source = path.join(root, `${file}.test.ts`)
  if (!existsSync(source)) return 'has no such file'
  const text = readFileSync(source, 'utf8')
  return [`'${test}'`, `"${test}"`, `\`${test}\``].some((quoted) => text.includes(quoted))
    ? undefined
    : 'has no such test'
}

t.test('every row is complete', async (t) => {
  t.ok(rows.length > 100, `${rows.length} rows`)
  for (const row of rows) {
    const cells = row.slice(2, -2).split(' | ')
    t.equal(cells.length, 3, row)
    for (const cell of cells) t.match(cell, /\S/, row)
  }
})

t.test('what it names exists', async (t) => {
  for (const row of rows) {
    const proofs = [...(row.split(' | ')[2] ?? '').matchAll(/`([^`]+)`/g)].map(([, proof = '']) => proof)
    t.ok(proofs.length > 0, row)
    for (const proof of proofs) t.equal(problemWith(proof), undefined, proof)
  }
})
