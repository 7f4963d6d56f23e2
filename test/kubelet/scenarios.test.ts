/**
 * Transcripts: each file of test/scenarios holds a pod, its programs and a user's deeds, and below the line what happens then.
 * `node test/kubelet/scenarios.test.ts --rewrite` writes what happens now; only a difference that can be explained may be committed.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t from 'tap'
import { transcriptMessage } from '../docs/seeds-page.ts'
import { readScenario } from './read-scenario.ts'
import { play } from './transcript.ts'

const folder = path.join(import.meta.dirname, '..', 'scenarios')
const rewrite = process.argv.includes('--rewrite')
const LINE = '\n---\n'
const unwritten =
  'the file has no line `---`: `node test/kubelet/scenarios.test.ts --rewrite` adds it, and what happens below it'

/** Its containers had ended by themselves; its node was off before the record could be written. */
const unrecorded = new Set(['dead-already.txt', 'node-shutdown-deleted.txt'])

t.test('a key that would be without effect is refused', async (t) => {
  const read = (user: string) => () => readScenario(`pod: {spec: {}}\nuntilSeconds: 1\nuser: ${user}`)
  t.throws(read('[{at: 1, deletes: {}}]'), { message: /^user has the unknown key deletes; known are at, delete, / })
  t.throws(read('[]\nprogram: {}'), { message: /^the transcript has the unknown key program; known are pod, / })
})

const files = readdirSync(folder).filter((name) => name.endsWith('.txt'))
t.ok(files.length >= 60, `${files.length} scenarios`)

for (const file of files) {
  t.test(file.replace('.txt', ''), async (t) => {
    const rootDir = mkdtempSync(path.join(tmpdir(), 'kubestage-scenario-'))
    t.teardown(() => rmSync(rootDir, { recursive: true, force: true }))
    const text = readFileSync(path.join(folder, file), 'utf8')
    const [given = '', expected] = text.split(LINE)
    if (expected === undefined && !rewrite) throw new Error(unwritten)
    const happened = `${(await play(readScenario(given), rootDir)).join('\n')}\n`
    if (rewrite) writeFileSync(path.join(folder, file), given.trimEnd() + LINE + happened)
    else t.equal(happened, expected, transcriptMessage)
    const isRecorded = happened.includes(' record: ') || unrecorded.has(file)
    t.ok(isRecorded || !/ (TERM|KILL|user: delete .*)$/m.test(happened), 'what the kubelet or a user ends has a record')
  })
}
