import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { realClock } from '../../../shared/clock/real-clock.ts'
import { repository } from '../../harness/cluster.ts'
import { run } from '../../harness/run.ts'
import { skipOrFail } from '../../harness/skip.ts'
import { startHttp2 } from './raw-client.ts'

/** Every case of h2spec (github.com/summerwind/h2spec), the strict ones included, against our own HTTP/2. */

const buildTimeoutMs = 120_000
const testTimeoutMs = 120_000
t.setTimeout(buildTimeoutMs + testTimeoutMs)
/** The cases send frames after their request, and want to see the server's opinion of those before its answer. */
const answerAfterMs = 100

const cwd = join(repository, 'test', 'toolchains')
const folder = mkdtempSync(join(tmpdir(), 'kubestage-h2spec-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))
const program = join(folder, 'h2spec')

const build = ['build', '-o', program, 'github.com/summerwind/h2spec/cmd/h2spec']
const built = await run('go', build, { cwd, timeoutMs: buildTimeoutMs })
if (!built) skipOrFail(t, 'Go is not installed')
else if (built.code !== 0) skipOrFail(t, `h2spec cannot be built here: ${built.output.slice(0, 2000)}`)
else {
  const { port } = await startHttp2(t, {
    onRequest(request, response) {
      request.on('data', () => {})
      request.on('end', () => {
        const answer = (): void => void response.writeHead(200, { 'content-type': 'text/plain' }).end('ok')
        realClock.setTimer(answerAfterMs, () => response.destroyed || answer())
      })
    },
  })
  const args = ['--tls', '--insecure', '--strict', '--port', String(port)]
  const { code, output } = (await run(program, args, { timeoutMs: testTimeoutMs })) ?? {}
  const [, tests, passed, skipped] = /(\d+) tests, (\d+) passed, (\d+) skipped, 0 failed/.exec(output ?? '') ?? []
  t.equal(code, 0, `${passed} of ${tests} cases pass`)
  t.ok(Number(passed) >= 145 && Number(skipped) <= 1, `${skipped} are skipped`)
  if (code !== 0) t.comment(output)
}
