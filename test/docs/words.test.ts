/** What scripts/words.ts finds in a page, and where. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { repository } from '../harness/cluster.ts'

const long = `${Array.from({ length: 36 }, () => 'word').join(' ')}.`

function wordsOf(t: Test, page: string): { status: number | null; findings: string[] } {
  const script = join(repository, 'scripts', 'words.ts')
  const { status, stdout } = spawnSync(process.execPath, [script], {
    cwd: t.testdir({ 'README.md': page }),
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
})

t.test('code, and pages without either, pass', async (t) => {
  const half = long.slice(0, 18 * 5)
  t.same(wordsOf(t, `Use \`nobody\`.\n\n\`\`\`sh\nwhoami # ${long} nobody\n\`\`\`\n\n${half}. ${half}.\n`), {
    status: 0,
    findings: [],
  })
})
