/** The Python client against a cluster: each of its tests is one here. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startTestCluster } from '../harness/cluster.ts'
import { run } from '../harness/run.ts'
import { skipOrFail } from '../harness/skip.ts'

const installTimeoutMs = 240_000
const testTimeoutMs = 330_000
t.setTimeout(installTimeoutMs + testTimeoutMs)

const cwd = join(import.meta.dirname, 'python')
const python = join(cwd, '.venv', 'bin', 'python')

const problem = existsSync(python) ? undefined : await install()
if (problem !== undefined) skipOrFail(t, problem)
else {
  const { kubeconfig } = await startTestCluster(t)
  const ran = await run(python, ['-m', 'unittest', '-v', 'clients.py'], {
    cwd,
    env: { KUBECONFIG: kubeconfig, PYTHONDONTWRITEBYTECODE: '1' },
    timeoutMs: testTimeoutMs,
  })
  const results = [...(ran?.output ?? '').matchAll(/^(\w+) \([\w.]+\) \.\.\. (\w+)$/gm)]
  for (const [, name = '', result] of results) t.equal(result, 'ok', name)
  t.ok(results.length > 8, `${results.length} tests have ended`)
  t.equal(ran?.code, 0, 'the program as a whole')
  if (ran?.code !== 0) t.comment(ran?.output)
}

/** Makes the environment that `requirements.txt` describes. Resolves to what stands in the way. */
async function install(): Promise<string | undefined> {
  const made = await run('./install.sh', [], { cwd, timeoutMs: installTimeoutMs })
  return made?.code === 0 ? undefined : `no Python environment: ${made?.output.slice(-2000)}`
}
