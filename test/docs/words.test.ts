/** What scripts/words.ts finds in a page, and where. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { repository } from '../harness/cluster.ts'

const long = `${Array.from({ length: 36 }, () => 'word').join(' ')}.`

function wordsOf(t: Test, page: string): { status: number | null; findings: string[] } {
  return wordsIn(t, { 'README.md': page })
}

function wordsIn(t: Test, files: Parameters<Test['testdir']>[0]): { status: number | null; findings: string[] } {
  const script = join(repository, 'scripts', 'words.ts')
  const { status, stdout } = spawnSync(process.execPath, [script], {
    cwd: t.testdir(files),
    encoding: 'utf8',
  })
  const findings = stdout.trim().split('\n').slice(0, -1)
  return { status, findings: findings.map((line) => line.replace(/;.*|…$/, '')) }
}

t.test('words to decode, and long sentences, each with its line', async (t) => {
  t.same(wordsOf(t, `# Title\n\nWhoever reads it.\n\n- an item\n- ${long}\n\n| fact | for somebody |\n`), {
    status: 1,
    findings: [
      'README.md:3: says "Whoever"',
      `README.md:6: a sentence of 36 words: - ${long.slice(0, 58)}`,
      'README.md:8: says "somebody"',
    ],
  })
  t.same(wordsOf(t, `A sentence goes on\n${long}\n`).findings.length, 1, 'over the end of a line')
  const short = `${Array.from({ length: 21 }, () => 'word').join(' ')}.`
  t.same(wordsOf(t, `| ${short} ${short} |\n|---|\n`).findings, [
    `README.md:1: a cell of 42 words: ${short.slice(0, 60)}`,
  ])
  t.same(wordsOf(t, `${short} ${short}\n`).findings, [], 'a paragraph may be longer than a cell')
})

t.test('a clause that begins with who, wherever it stands', async (t) => {
  const says = (sentence: string): string[] => wordsOf(t, `${sentence}\n`).findings
  t.same(says('It says who asks.').length, 0, 'a question')
  t.same(says('This is who asks.'), ['README.md:1: says "is who "'])
  t.same(says('It is for those who ask.'), ['README.md:1: says "those who"'])
  t.same(says('It is done. Whose turn it is decides.'), ['README.md:1: says ". Whose"'])
})

t.test('a page of the documentation begins with its readers', async (t) => {
  const begins = (text: string): string[] => wordsIn(t, { docs: { 'page.md': `# Title\n\n${text}\n` } }).findings
  t.same(begins('This page is for users.'), [])
  t.same(begins('It is a page.'), ['docs/page.md:3: begins without its readers: "This page is for …"'])
})

t.test('comments of the product, also over several lines', async (t) => {
  const source = "/** For\n * whoever reads. */\nconst nobody = 'whoever' // of nobody\n// It waits for `nobody`.\n"
  t.same(wordsIn(t, { cli: { 'a.ts': source }, test: { 'a.ts': source } }), {
    status: 1,
    findings: ['cli/a.ts:1: says "whoever"', 'cli/a.ts:3: says "nobody"'],
  })
})

t.test('code, and pages without either, pass', async (t) => {
  const half = long.slice(0, 18 * 5)
  t.same(wordsOf(t, `Use \`nobody\`.\n\n\`\`\`sh\nwhoami # ${long} nobody\n\`\`\`\n\n${half}. ${half}.\n`), {
    status: 0,
    findings: [],
  })
})
