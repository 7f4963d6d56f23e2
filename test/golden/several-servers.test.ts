/**
 * A sample of the recordings at the last of three API servers, which has the objects from the first. All of them:
 * `KUBESTAGE_APISERVERS=3 npm test -- test/golden/api.test.ts`, in a file with `STORE=sqlite`.
 */
import t from 'tap'
import { startTestCluster } from '../harness/cluster.ts'
import { replayApi } from '../harness/replay.ts'

const samples = { memory: ['watches.json', 'lists.json'], sqlite: ['crd.json'] }

t.setTimeout(300_000)

process.env.KUBESTAGE_APISERVERS = '3'
for (const [store, files] of Object.entries(samples)) {
  await t.test(`three API servers on a store in ${store}`, async (t) => {
    process.env.STORE = store
    const cluster = await startTestCluster(t, '--kubelet=false', '--scheduler=false')
    for (const file of files) {
      await t.test(file, async (t) => {
        const { differences } = await replayApi(cluster, file)
        t.ok(differences.size > 0, `${differences.size} scenarios are played`)
        for (const [name, found] of differences) t.same(found.slice(0, 12), [], name)
      })
    }
  })
}
