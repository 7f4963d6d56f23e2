import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import type { RuntimeCapabilities } from '../../../kubelet/runtime/container-runtime.ts'
import { possibleIsolation } from '../../../kubelet/runtime/process/index.ts'
import { scratchFolder } from '../../harness/scratch.ts'
import { skipOrFail } from '../../harness/skip.ts'
import { mountSmallDisk } from '../../harness/small-disk.ts'
import { until } from '../../harness/until.ts'
import { configOf, exited, recordOf, sandboxOf, sh, startNode, texts } from './runtime-node.ts'

const size = 'size=128k'

async function fills(t: Test, capabilities: RuntimeCapabilities): Promise<void> {
  const node = await startNode(t, capabilities)
  const { runtime } = node
  const logs = path.join(scratchFolder(t, 'logs'), 'small')
  if (!mountSmallDisk(logs, size)) return skipOrFail(t, 'this machine lets us mount nothing')
  const sandbox = await sandboxOf(runtime, 'full')
  const loud = await runtime.startContainer(
    configOf(node, sandbox, sh('i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done; exit 5'), {
      logPath: path.join(logs, 'c', '0.log'),
    }),
  )
  await exited(runtime, loud.id)
  t.equal((await recordOf(runtime, loud.id)).exitCode, 5, 'it is not held up')
  t.equal(texts(loud.logPath)[0], 'line 0', 'what found room is there')
  await runtime.removeSandbox(sandbox.id)
}

for (const isolation of ['none', 'pod'] as const) {
  t.test(`a log on a full disk costs its lines, and nothing else: isolation ${isolation}`, async (t) => {
    const possible = await possibleIsolation({ rootDir: t.testdir() })
    if (isolation === 'pod' && possible.isolation !== 'pod') return skipOrFail(t, 'this machine gives us no namespaces')
    await fills(t, isolation === 'pod' ? possible : { isolation, files: 'host' })
  })
}

t.test(
  'with the runtime’s own disk full, containers start and end, and what happened is written when there is room',
  async (t) => {
    const rootDir = scratchFolder(t, 'full')
    if (!mountSmallDisk(path.join(rootDir, 'runtime'), size)) return skipOrFail(t, 'this machine lets us mount nothing')
    const node = await startNode(t, undefined, { rootDir })
    const { runtime } = node
    const ballast = path.join(node.rootDir, 'runtime', 'ballast')
    const before = await sandboxOf(runtime, 'before')
    try {
      writeFileSync(ballast, Buffer.alloc(256 * 1024))
    } catch {
      t.pass('the disk is full')
    }
    const annotations = { large: 'x'.repeat(8 * 1024) }
    const sandbox = await sandboxOf(runtime, 'full')
    const ends = await runtime.startContainer(configOf(node, sandbox, sh('exit 3'), { annotations }))
    await exited(runtime, ends.id)
    const runs = await runtime.startContainer(configOf(node, sandbox, ['sleep', '1000'], { annotations, attempt: 1 }))
    writeFileSync(ballast, '')
    await runtime.removeSandbox(before.id)
    await runtime.close()

    const again = await node.again()
    t.match(await recordOf(again, ends.id), { state: 'exited', exitCode: 3 })
    t.match(await recordOf(again, runs.id), { state: 'running', pid: runs.pid })
    await again.stopContainer(runs.id, { signal: 'TERM', gracePeriodMs: 5_000 })
    t.equal((await recordOf(again, runs.id)).exitCode, 143)
    await until(() => readFileSync(path.join(node.rootDir, 'runtime', 'journal'), 'utf8').includes('"exited"'), {
      what: 'its end to be written',
    })
  },
)
