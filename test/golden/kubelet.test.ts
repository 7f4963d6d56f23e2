import t from 'tap'
import { startTestCluster } from '../harness/cluster.ts'
import { readLater, replayKubelet, toolFolder } from '../harness/replay.ts'

t.setTimeout(600_000)

t.test('a pod lives and dies as under a real kubelet', { timeout: 600_000 }, async (t) => {
  const later = readLater().kubelet
  const tools = toolFolder(t.testdir())
  const cluster = await startTestCluster(
    t,
    `--image-path=busybox:*=${tools}`,
    `--image=stopsig:*=${tools}/tool usr1`,
    '--image-stop-signal=stopsig:*=SIGUSR1',
  )
  const { differences } = await replayKubelet(cluster)
  let equal = 0
  for (const [name, found] of differences) {
    if (found.length === 0) equal++
    if (found.length > 0 && !later[name]) t.fail(`${name}: differs from a real kubelet`, { found: found.slice(0, 12) })
  }
  t.ok(equal > 0, `${equal} of ${differences.size} scenarios go as under a real kubelet`)
})
