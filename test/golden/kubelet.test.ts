import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startTestCluster } from '../harness/cluster.ts'
import { readLater, recordedImages, replayKubelet } from '../harness/replay.ts'

t.setTimeout(600_000)

t.test('a pod lives and dies as under a real kubelet', { timeout: 600_000 }, async (t) => {
  const later = readLater().kubelet
  const folder = t.testdir({ 'images.json': '' })
  const file = join(folder, 'images.json')
  writeFileSync(file, JSON.stringify(recordedImages(folder)))
  const cluster = await startTestCluster(t, `--config=${file}`)
  const { differences } = await replayKubelet(cluster)
  let equal = 0
  for (const [name, found] of differences) {
    if (found.length === 0) equal++
    if (found.length > 0 && !later[name]) t.fail(`${name}: differs from a real kubelet`, { found: found.slice(0, 12) })
  }
  t.ok(equal > 0, `${equal} of ${differences.size} scenarios go as under a real kubelet`)
})
