import { readFileSync } from 'node:fs'
import t from 'tap'
import { kubeletPid, startTestCluster } from '../harness/cluster.ts'

t.test('The kubelet is started with settings of the allocator, beside the variables of its cluster', async (t) => {
  const cluster = await startTestCluster(t)
  const variables = readFileSync(`/proc/${kubeletPid(cluster)}/environ`, 'utf8').split('\0')
  t.ok(variables.includes('MALLOC_ARENA_MAX=1'))
  t.ok(variables.includes(`HOME=${process.env.HOME}`))
})
