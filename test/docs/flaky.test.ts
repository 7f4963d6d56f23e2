/** The list of tests that pass only alone, and the reminder of CI. */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import t from 'tap'
import { flakyTests, reminders } from '../../scripts/flaky.ts'

t.test('each row names a file that is there, what failed, the cause, and since when', async (t) => {
  for (const row of flakyTests(readFileSync('test/flaky.md', 'utf8'))) {
    t.ok(existsSync(row.file), row.file)
    t.match(row, { failed: /\S/, cause: /\S/, since: /^\d{4}-\d\d-\d\d$/ })
  }
})

t.test('a file without a row is named', async (t) => {
  const page =
    '| file | what failed | cause | since |\n|---|---|---|---|\n| `test/a.test.ts` | a \\| b | c | 2026-11-26 |\n'
  t.same(flakyTests(page), [{ file: 'test/a.test.ts', failed: 'a \\| b', cause: 'c', since: '2026-11-26' }])
  t.same(reminders(['test/a.test.ts', 'test/b.test.ts'], page), [
    '# test/b.test.ts is not in test/flaky.md: add a row with its cause, or fix the test',
  ])
  const ran = spawnSync(process.execPath, ['scripts/flaky.ts', 'test/none.test.ts'], { encoding: 'utf8' })
  t.match(ran, { status: 0, stdout: /^# test\/none\.test\.ts is not in test\/flaky\.md: / })
})
