/** Go programs (client-go, controller-runtime, Helm's SDK) against a cluster: each of their tests is one here. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { startTestCluster } from '../harness/cluster.ts'
import { run } from '../harness/run.ts'
import { skipOrFail } from '../harness/skip.ts'

// The first build of all, with nothing in Go's cache.
const buildTimeoutMs = 480_000
const testTimeoutMs = 330_000
t.setTimeout(buildTimeoutMs + 2 * testTimeoutMs)

const cwd = join(import.meta.dirname, 'go')
const folder = mkdtempSync(join(tmpdir(), 'kubestage-go-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))
const program = join(folder, 'clients.test')

const built = await run('go', ['test', '-c', '-vet=off', '-o', program, '.'], { cwd, timeoutMs: buildTimeoutMs })
if (!built) skipOrFail(t, 'Go is not installed')
else if (built.code !== 0) skipOrFail(t, `the Go modules cannot be built here: ${built.output.slice(0, 2000)}`)
else {
  const tests = async (name: string, { atLeast, flags, args = [] }: Clients): Promise<void> => {
    await t.test(name, { timeout: testTimeoutMs }, async (t) => {
      const { kubeconfig, process } = await startTestCluster(t, ...flags)
      const ran = await run(program, ['-test.v', `-test.timeout=${testTimeoutMs - 10_000}ms`, ...args], {
        cwd,
        env: { KUBECONFIG: kubeconfig },
        timeoutMs: testTimeoutMs,
      })
      const results = [...(ran?.output ?? '').matchAll(/^ *--- (PASS|FAIL|SKIP): (\S+)/gm)]
      for (const [, result, name = ''] of results) t.equal(result, 'PASS', name)
      t.ok(results.length > atLeast, `${results.length} tests have ended`)
      t.equal(ran?.code, 0, 'the program as a whole')
      if (ran?.code !== 0) t.comment(ran?.output)
      await process.stop()
    })
  }
  await tests('all clients', { atLeast: 25, flags: [] })
  const sample = '-test.run=^Test(Typed|Dynamic|Discovery|Informers|RetryWatcher|ConcurrentPatches)$'
  await tests('a sample with --http2=node', { atLeast: 5, flags: ['--http2=node', '--nodes=0'], args: [sample] })
}

interface Clients {
  /** So many tests must have ended. */
  atLeast: number
  /** Of `kubestage up`. */
  flags: string[]
  /** Of the Go program. */
  args?: string[]
}
