// tap: a cluster for each test, side by side; what the program does when the server is busy, cut off, or behind.
import { CoreV1Api } from '@kubernetes/client-node'
import { startCluster } from 'kubestage'
import t from 'tap'

const namespace = 'default'
t.jobs = 3

async function stage(t) {
  const cluster = await startCluster({ apiOnly: true })
  t.teardown(() => cluster.close())
  const core = await cluster.apiClient(CoreV1Api)
  await core.createNamespacedConfigMap({ namespace, body: { metadata: { name: 'a' } } })
  const count = async () => Number((await core.readNamespacedConfigMap({ namespace, name: 'a' })).data?.count ?? 0)
  return { core, count, faults: cluster.faults, journal: cluster.journal }
}

/** What is under test: counts one up, and tries again when there was no answer, or not the one that was hoped for. */
async function countUp(core) {
  for (let attempt = 1; ; attempt++) {
    try {
      const body = await core.readNamespacedConfigMap({ namespace, name: 'a' })
      body.data = { count: String(Number(body.data?.count ?? 0) + 1) }
      return await core.replaceNamespacedConfigMap({ namespace, name: 'a', body })
    } catch (error) {
      const isTransient = error.code === undefined || [409, 503].includes(error.code)
      if (!isTransient || attempt === 5) throw error
    }
  }
}

t.test('a server that is busy for a moment', async (t) => {
  const { core, count, faults } = await stage(t)
  const fault = faults.add({ verb: 'update', times: 2, then: { status: 503 } })
  await countUp(core)
  t.equal(fault.hits(), 2)
  t.equal(await count(), 1)
})

t.test('a server that lags behind: what was read is old, so the write is refused', async (t) => {
  const { core, count, faults, journal } = await stage(t)
  await countUp(core)
  faults.add({ verb: 'get', resource: 'configmaps', name: 'a', times: 1, then: { stale: 1 } })
  await countUp(core)
  t.equal(await count(), 2)
  journal.assert({ verb: 'update', code: 409 }, 1)
})

t.test('chance, the same in every run', async (t) => {
  const { core, count, faults } = await stage(t)
  const fault = faults.add({ verb: ['get', 'update'], probability: 0.4, seed: 3, then: { status: 503 } })
  for (let round = 0; round < 4; round++) await countUp(core)
  const hits = fault.hits()
  fault.remove()
  t.equal(await count(), 4)
  t.ok(hits > 0, `${hits} requests failed`)
})
