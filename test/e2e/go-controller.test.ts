import { execFile, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { cli, repository } from '../harness/cluster.ts'
import { skipOrFail } from '../harness/skip.ts'

const run = promisify(execFile)
/** A first build of Kubernetes' client libraries takes minutes. */
const buildMs = 600_000

t.setTimeout(buildMs)

t.test("controller-runtime's envtest starts our programs, and a controller sees its pods run", async (t) => {
  if (spawnSync('go', ['version']).status !== 0) return skipOrFail(t, 'there is no Go here')
  const folder = mkdtempSync(join(tmpdir(), 'kubestage-assets-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const { stdout } = await run(process.execPath, [cli, 'envtest-assets', `--assets-dir=${folder}`])
  t.equal(stdout, `${folder}\n`, 'what KUBEBUILDER_ASSETS is to be')

  const env = { ...process.env, KUBEBUILDER_ASSETS: folder, GOTOOLCHAIN: 'local' }
  const cwd = join(repository, 'examples', 'go-controller')
  const flags = ['-json', '-count=1', '-vet=off', '-timeout=300s']
  const results = await run('go', ['test', ...flags, '.'], { cwd, env, maxBuffer: 1 << 26 }).catch(
    (error: { stdout: string; stderr: string }) => ({ stdout: error.stdout, stderr: error.stderr }),
  )
  t.equal(results.stderr, '')
  const events = results.stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as { Action: string; Test?: string; Output?: string })
  const verdicts = Object.fromEntries(
    events.flatMap(({ Action, Test }) => (Test && /^(pass|fail|skip)$/.test(Action) ? [[Test, Action]] : [])),
  )
  const wanted = ['TestCreatesThePod', 'TestSeesThePodRun', 'TestUsersAreTheirOwn', 'TestWebhooksAreAsked']
  if (!t.same(verdicts, Object.fromEntries(wanted.map((name) => [name, 'pass']))))
    t.comment(events.map(({ Output = '' }) => Output).join(''))
})
