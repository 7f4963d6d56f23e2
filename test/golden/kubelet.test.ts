import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Node } from '../../shared/api/types.ts'
import { nodes } from '../../shared/client/resources.ts'
import { startTestCluster } from '../harness/cluster.ts'
import { readLater } from '../harness/replay.ts'
import { skipOrFail } from '../harness/skip.ts'
import { noBusybox } from '../harness/busybox-root.ts'
import { scratchFolder } from '../harness/scratch.ts'
import {
  quickScenarios,
  recordedFlags,
  recordedImages,
  replayKubelet,
  startRecordedRegistry,
} from '../harness/replay-kubelet.ts'

t.setTimeout(600_000)

t.test('a pod lives and dies as under a real kubelet', { timeout: 600_000 }, async (t) => {
  const folder = t.testdir({ 'images.json': '' })
  const file = join(folder, 'images.json')
  writeFileSync(file, JSON.stringify(recordedImages(folder)))
  if (!(await startRecordedRegistry(t, scratchFolder(t, 'registry')))) return skipOrFail(t, noBusybox)
  const cluster = await startTestCluster(t, `--config=${file}`, ...recordedFlags)
  const { metadata } = await cluster.client.get<Node>(nodes, { name: 'node-1' })
  if (metadata.labels?.['kubestage.dev/isolation'] !== 'pod') {
    skipOrFail(t, 'this machine gives containers no PID namespaces: process 1 is not theirs, as it is in the recordings')
    return
  }
  const scenarios = quickScenarios(readLater().kubelet)
  const { differences } = await replayKubelet(cluster, scenarios, (text) => t.comment(text))
  t.equal(differences.size, scenarios.length, `${scenarios.length} scenarios are played`)
  for (const [name, found] of differences) t.same(found.slice(0, 12), [], name)
})
