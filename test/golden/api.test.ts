import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startTestCluster } from '../harness/cluster.ts'
import { differsBySeveral, readLater, recordings, replayApi } from '../harness/replay.ts'
import { serversOfRun } from '../harness/stores-of-run.ts'

t.setTimeout(900_000)
t.jobs = 3 // most of the time they wait
const later = readLater().api
const isSeveral = serversOfRun() > 1
/**
 * Its owner was never there. The garbage collector runs in another server, and may delete the pod before the next
 * request: so may a real one, which has won less often.
 */
const soonCollected = 'defaults: Pod: labels, annotations, finalizers, owner'
const whenCollected = ['GET /api/v1/namespaces/{{ns}}/pods/p', '.status: want 200, got 404']
/** One for each recording that is played at the same time: they make classes, webhooks and policies that are for all of a cluster. */
const start = () => startTestCluster(t, '--kubelet=false', '--scheduler=false')
const idle = await Promise.all(Array.from({ length: t.jobs }, start))

for (const file of recordings) {
  t.test(file, { timeout: 300_000 }, async (t) => {
    const cluster = idle.pop()!
    const { differences } = await replayApi(cluster, file).finally(() => idle.push(cluster))
    t.ok(differences.size > 0, `${differences.size} scenarios are played`)
    for (const [name, found] of differences) {
      if (isSeveral && name === soonCollected && found.length > 0) t.same(found.slice(0, 2), whenCollected, name)
      else if (differsBySeveral.includes(name)) t.ok(found.length > 0, `${name}: tokens have the issuer of several servers`)
      else if (later[name]) t.ok(found.length > 0, `${name}: is in later.json, and differs`)
      else t.same(found.slice(0, 12), [], name)
    }
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
