import { spawnSync } from 'node:child_process'
import t from 'tap'
import { repository } from '../harness/cluster.ts'

t.test('the references of commands and keys are as --help has them', async (t) => {
  const { status, stderr } = spawnSync(process.execPath, ['scripts/reference-docs.ts'], {
    cwd: repository,
    encoding: 'utf8',
  })
  t.same({ status, stderr }, { status: 0, stderr: '' })
})
