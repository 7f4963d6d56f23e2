// scripts/test.ts: what `npm test` and `npm run test:quick` choose.
import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'
import t from 'tap'
import { quickTests } from '../../scripts/quick-tests.ts'

t.test('each pattern of the quick tests names files that exist', async (t) => {
  for (const pattern of quickTests) t.not(globSync(pattern).length, 0, pattern)
})

t.test('a folder without tests is refused by its name', async (t) => {
  const { status, stderr } = spawnSync(process.execPath, ['scripts/test.ts', 'test/harness'], { encoding: 'utf8' })
  t.equal(status, 1)
  t.match(stderr, 'test/harness has no file that ends with .test.ts')
})
