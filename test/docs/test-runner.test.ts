// scripts/test.ts: what `npm test` and `npm run test:quick` choose; scripts/test-parts.ts: what `.ci/run` does first.
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import t from 'tap'
import { quickTests } from '../../scripts/quick-tests.ts'
import { reachedFrom, testsOf } from '../../scripts/test-parts.ts'

t.test('each pattern of the quick tests names files that exist', async (t) => {
  for (const pattern of quickTests) t.not(globSync(pattern).length, 0, pattern)
})

t.test('a folder without tests is refused by its name', async (t) => {
  const { status, stderr } = spawnSync(process.execPath, ['scripts/test.ts', 'test/harness'], { encoding: 'utf8' })
  t.equal(status, 1)
  t.match(stderr, 'test/harness has no file that ends with .test.ts')
})

t.test('each test is in one part of a CI run', async (t) => {
  const all = globSync('test/**/*.test.ts', { exclude: ['**/node_modules/**'] })
  t.same([...testsOf('early'), ...testsOf('late')].sort(), all.sort())
})

t.test('a test that uses what CI builds beside is late', async (t) => {
  const uses = /\b(run|spawnSync|execFile|execFileSync)\('go'|'toolchains'|test\/toolchains\/|'\.venv'/
  const file = 'test/docs/test-runner.test.ts'
  const early = testsOf('early').filter((test) => test !== file)
  t.same(
    early.filter((test) => reachedFrom(test).some((other) => uses.test(readFileSync(other, 'utf8')))),
    [],
  )
})
