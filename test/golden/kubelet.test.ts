import t from 'tap'
import type { Node } from '../../shared/api/types.ts'
import { nodes } from '../../shared/client/resources.ts'
import { readLater } from '../harness/replay.ts'
import { skipOrFail } from '../harness/skip.ts'
import { noBusybox } from '../harness/busybox-root.ts'
import { quickScenarios, replayKubelet, startRecordedCluster } from '../harness/replay-kubelet.ts'

t.setTimeout(600_000)

t.test('a pod lives and dies as under a real kubelet', { timeout: 600_000 }, async (t) => {
  const cluster = await startRecordedCluster(t)
  if (!cluster) return skipOrFail(t, noBusybox)
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
