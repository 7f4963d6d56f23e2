/** The pytest fixture of examples/python, which starts its cluster by the command line. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { cli, repository } from '../harness/cluster.ts'
import { run } from '../harness/run.ts'
import { skipOrFail } from '../harness/skip.ts'

const testTimeoutMs = 330_000
t.setTimeout(testTimeoutMs)
const python = join(import.meta.dirname, 'python', '.venv', 'bin', 'python')

if (!existsSync(join(python, '..', 'pytest')))
  skipOrFail(t, 'there is no pytest: test/clients/python/install.sh installs it')
else {
  const ran = await run(python, ['-m', 'pytest', '-v', '-p', 'no:cacheprovider'], {
    cwd: join(repository, 'examples', 'python'),
    env: { KUBESTAGE: `'${process.execPath}' '${cli}'`, PYTHONDONTWRITEBYTECODE: '1', NO_COLOR: '1' },
    timeoutMs: testTimeoutMs - 5_000,
  })
  const results = [...(ran?.output ?? '').matchAll(/^test_\w+\.py::(\w+) (\w+)/gm)]
  for (const [, name = '', result] of results) t.equal(result, 'PASSED', name)
  t.equal(results.length, 3)
  if (ran?.code !== 0) t.comment(ran?.output)
}
