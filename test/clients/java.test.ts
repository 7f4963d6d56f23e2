/** Java against the assets: a program that starts them as fabric8's kube-api-test does, and needs nothing but a JDK. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import t from 'tap'
import { writeAssets } from '../../cli/envtest/assets.ts'
import { cli } from '../harness/cluster.ts'
import { run } from '../harness/run.ts'
import { skipOrFail } from '../harness/skip.ts'

const timeoutMs = 330_000
t.setTimeout(timeoutMs + 10_000)

const folder = mkdtempSync(join(tmpdir(), 'kubestage-java-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))

if ((await run('javac', ['--version'])) === undefined) skipOrFail(t, 'no JDK on this machine')
else {
  const assets = join(folder, 'assets')
  const program = join(dirname(cli), 'kubestage-envtest.mjs')
  writeAssets({ folder: assets, node: process.execPath, program })
  const ran = await run('java', [join(import.meta.dirname, 'java', 'KubeApiTest.java'), assets, folder], { timeoutMs })
  t.match(ran?.output, /^ok$/m)
  t.equal(ran?.code, 0)
  if (ran?.code !== 0) t.comment(ran?.output)
}
