import t from 'tap'
import { startCluster } from '../../library/index.ts'
import { etcdPrograms, noEtcd, startEtcd } from '../harness/etcd.ts'
import { startTlsEtcd } from '../harness/etcd-tls.ts'
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

  t.test('the library takes certificates and the prefix of etcd by the names of the flags', async (t) => {
    const { etcd, file, mine } = await startTlsEtcd(t, program)
    const storage = `etcd:${etcd.url}` as const
    const etcdPrefix = '/teams/blue'
    await t.rejects(startCluster({ storage, apiOnly: true, ...mine, etcdCafile: file('other.crt') }), {
      name: 'ConfigError',
      message: /its certificate is not signed by the CA of --etcd-cafile/,
    })
    await t.rejects(startCluster({ storage, apiOnly: true, ...mine, etcdKeyfile: undefined }), {
      message: /^--etcd-certfile and --etcd-keyfile belong together/,
    })
    await t.rejects(startCluster({ storage, etcdCafile: 3 } as never), {
      message: 'startCluster: etcdCafile must be text, not 3',
    })
    const cluster = await startCluster({ storage, apiOnly: true, ...mine, etcdPrefix })
    t.teardown(() => cluster.close())
    const { kvs } = await etcd.client.call('range', { key: '/teams/blue/namespaces/default' }, { isRepeatable: true })
    t.match(JSON.parse(kvs[0]?.value ?? '{}'), { metadata: { name: 'default' } })
    const other = await etcd.client.call(
      'range',
      { key: '/registry/', range_end: '/registry0' },
      { isRepeatable: true },
    )
    t.equal(other.kvs.length, 0)
  })
}
