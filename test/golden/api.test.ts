import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startTestCluster } from '../harness/cluster.ts'
import { readLater, recordings, replayApi } from '../harness/replay.ts'

t.setTimeout(900_000)
const later = readLater().api
const cluster = await startTestCluster(t, '--kubelet=false', '--scheduler=false')

for (const file of recordings) {
  t.test(file, { timeout: 300_000 }, async (t) => {
    const { differences } = await replayApi(cluster, file)
    let equal = 0
    for (const [name, found] of differences) {
      if (found.length === 0) equal++
      if (found.length === 0 && later[name]) t.fail(`${name}: agrees now; remove it from later.json`)
      if (found.length > 0 && !later[name]) t.fail(`${name}: differs from a real server`, { found: found.slice(0, 12) })
    }
    t.ok(equal > 0, `${equal} of ${differences.size} scenarios are answered as by a real server`)
  })
}

t.test('later.json names only what was recorded', async (t) => {
  const scenarios = recordings.flatMap((file) => JSON.parse(readFileSync(join(import.meta.dirname, 'api', file), 'utf8')))
  const names = new Set((scenarios as { name: string }[]).map(({ name }) => name))
  t.same(
    Object.keys(later).filter((name) => !names.has(name)),
    [],
  )
})
