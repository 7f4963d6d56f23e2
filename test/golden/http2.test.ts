/**
 * The recordings once more over HTTP/2, with each of its two servers.
 * They say what HTTP/1.1 gets; a sample of them is enough here: RECORDINGS=. plays all.
 */
import t from 'tap'
import { startTestCluster } from '../harness/cluster.ts'
import { differsBySeveral, readLater, recordings, replayApi } from '../harness/replay.ts'

t.setTimeout(900_000)
t.jobs = 2 // most of the time they wait
const chosen = recordings.filter((file) => new RegExp(process.env.RECORDINGS ?? '^watches').test(file))
const known = [...Object.keys(readLater().api), ...differsBySeveral]

for (const server of ['own', 'node']) {
  t.test(`--http2=${server}`, { timeout: 600_000 }, async (t) => {
    const cluster = await startTestCluster(t, '--kubelet=false', '--scheduler=false', `--http2=${server}`)
    for (const file of chosen) {
      const { differences } = await replayApi(cluster, file, { http2: true })
      t.ok(differences.size > 0, `${differences.size} scenarios of ${file} are played`)
      for (const [name, found] of differences) if (!known.includes(name)) t.same(found.slice(0, 12), [], name)
    }
  })
}
