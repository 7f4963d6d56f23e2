import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startTestCluster } from '../harness/cluster.ts'
import { readLater, replayApi } from '../harness/replay.ts'

const later = readLater().api
const cluster = await startTestCluster(t, '--kubelet=false', '--scheduler=false')

for (const file of readdirSync(join(import.meta.dirname, 'api')).sort()) {
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
  const names = new Set<string>()
  for (const file of readdirSync(join(import.meta.dirname, 'api'))) {
    const { default: scenarios } = await import(`./api/${file}`, { with: { type: 'json' } })
    for (const { name } of scenarios as { name: string }[]) names.add(name)
  }
  t.same(Object.keys(later).filter((name) => !names.has(name)), [])
})
