import t from 'tap'
import { startTestCluster } from '../harness/cluster.ts'
import { readLater, replayKubelet } from '../harness/replay.ts'

/** The scenarios of the termination sequence; all of them are a command of their own (test/golden/README.md). */
const quick = '^(del-|prestop-|poststart-|exit|second-delete|force-delete|grace|negative|spec-grace)'

t.test('a pod lives and dies as under a real kubelet', { timeout: 600_000 }, async (t) => {
  const later = readLater().kubelet
  const cluster = await startTestCluster(t)
  const { differences } = await replayKubelet(cluster, quick)
  let equal = 0
  for (const [name, found] of differences) {
    if (found.length === 0) equal++
    if (found.length > 0 && !later[name]) t.fail(`${name}: differs from a real kubelet`, { found: found.slice(0, 12) })
  }
  t.ok(equal > 0, `${equal} of ${differences.size} scenarios go as under a real kubelet`)
})
