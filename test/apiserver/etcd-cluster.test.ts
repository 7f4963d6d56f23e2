import t from 'tap'
import { startCluster } from '../../library/index.ts'
import { etcdPrograms, noEtcd, startEtcd } from '../harness/etcd.ts'
import { scratchFolder } from '../harness/scratch.ts'
import { skipOrFail } from '../harness/skip.ts'

const program = etcdPrograms()[0]
if (!program) skipOrFail(t, noEtcd)
else {
  t.test(`a cluster on etcd ${program.version} goes on where it ended, and is not taken for another`, async (t) => {
    const { url, client } = await startEtcd(t, program)
    const storage = `etcd:${url}` as const
    const stateDir = scratchFolder(t, 'etcd-cluster')
    const first = await startCluster({ storage, stateDir, simulatedNodes: 1 })
    t.teardown(() => first.close())
    const configmaps = '/api/v1/namespaces/default/configmaps'
    const made = await first.inject({ method: 'POST', url: configmaps, payload: { metadata: { name: 'kept' } } })
    t.equal(made.statusCode, 201)
    const { resourceVersion } = made.json<{ metadata: { resourceVersion: string } }>().metadata
    const minions = await client.call('range', { key: '/registry/minions/simulated-1' }, { isRepeatable: true })
    t.match(JSON.parse(minions.kvs[0]?.value ?? '{}'), { metadata: { name: 'simulated-1' } })
    await first.close()

    await t.rejects(startCluster({ storage, apiOnly: true }), {
      name: 'ConfigError',
      message: /^the objects in etcd belong to a cluster with another CA; start with the pki folder of that cluster/,
    })
    const again = await startCluster({ storage, stateDir, apiOnly: true })
    t.teardown(() => again.close())
    const kept = await again.inject({ method: 'GET', url: `${configmaps}/kept` })
    t.equal(kept.json<{ metadata: { resourceVersion: string } }>().metadata.resourceVersion, resourceVersion)
    const then = `${configmaps}?resourceVersion=${resourceVersion}&resourceVersionMatch=Exact`
    t.equal((await again.inject({ method: 'GET', url: then })).statusCode, 200, 'the history from before is known')
  })
}
