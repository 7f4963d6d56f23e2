// node --test: what the program does when the server is busy, slow, cut off, or behind.
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { CoreV1Api } from '@kubernetes/client-node'
import { startCluster } from 'kubestage'

const namespace = 'default'
let cluster
let core
before(async () => {
  cluster = await startCluster({ apiOnly: true })
  core = await cluster.apiClient(CoreV1Api)
})
beforeEach(() => cluster.reset())
after(() => cluster.close())

/** What is under test: counts one up, and retries when the server is busy or another write came first. */
async function countUp(name) {
  for (let attempt = 1; ; attempt++) {
    try {
      const body = await core.readNamespacedConfigMap({ namespace, name })
      body.data = { count: String(Number(body.data?.count ?? 0) + 1) }
      return await core.replaceNamespacedConfigMap({ namespace, name, body })
    } catch (error) {
      if (![409, 503].includes(error.code) || attempt === 5) throw error
    }
  }
}
const create = (name) => core.createNamespacedConfigMap({ namespace, body: { metadata: { name } } })
const countOf = async (name) => (await core.readNamespacedConfigMap({ namespace, name })).data?.count

test('a server that is busy for a moment', async () => {
  await create('a')
  const fault = cluster.faults.add({ verb: 'update', times: 2, then: { status: 503 } })
  await countUp('a')
  assert.equal(fault.hits(), 2)
  assert.equal(await countOf('a'), '1')
})

test('a server that lags behind: what was read is old, so the write is refused', async () => {
  await create('a')
  await countUp('a')
  const fault = cluster.faults.add({ verb: 'get', resource: 'configmaps', name: 'a', times: 1, then: { stale: 1 } })
  await countUp('a')
  assert.equal(fault.hits(), 1)
  assert.equal(await countOf('a'), '2')
  cluster.journal.assert({ verb: 'update', code: 409 }, 1)
})

test('chance, the same in every run', async () => {
  const names = ['a', 'b', 'c', 'd']
  await Promise.all(names.map(create))
  cluster.faults.add({ verb: ['get', 'update'], probability: 0.3, seed: 3, then: { status: 503 } })
  await Promise.all(names.map(countUp))
  cluster.faults.clear()
  assert.deepEqual(await Promise.all(names.map(countOf)), ['1', '1', '1', '1'])
})
