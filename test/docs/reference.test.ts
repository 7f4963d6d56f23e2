import { spawnSync } from 'node:child_process'
import t from 'tap'
import { repository } from '../harness/cluster.ts'

t.test('the references of commands and keys are as --help has them', async (t) => {
  const { status, stderr } = spawnSync(process.execPath, ['scripts/reference-docs.ts'], {
    cwd: repository,
    encoding: 'utf8',
  })
  // TypeScript's process, when it is closed, may say there that it was canceled.
  t.equal(status, 0, stderr)
})
