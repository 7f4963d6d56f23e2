/**
 * A sample of the recordings at the last of three API servers, which has the objects from the first. All of them:
 * `KUBESTAGE_APISERVERS=3 npm test -- test/golden/api.test.ts`.
 */
import t from 'tap'
import { startTestCluster } from '../harness/cluster.ts'
import { replayApi } from '../harness/replay.ts'

const sample = ['watches.json', 'lists.json']

t.setTimeout(300_000)

process.env.KUBESTAGE_APISERVERS = '3'
const cluster = await startTestCluster(t, '--kubelet=false', '--scheduler=false')

for (const file of sample) {
  t.test(`${file} with three API servers`, async (t) => {
    const { differences } = await replayApi(cluster, file)
    t.ok(differences.size > 0, `${differences.size} scenarios are played`)
    for (const [name, found] of differences) t.same(found.slice(0, 12), [], name)
  })
}
