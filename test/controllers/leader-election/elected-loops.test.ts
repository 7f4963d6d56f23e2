import t, { type Test } from 'tap'
import { ignoreNotFound } from '../../../shared/api/status/status-error.ts'
import type { Event, Lease, Pod } from '../../../shared/api/types.ts'
import type { Deployment } from '../../../shared/api/workloads/workloads.ts'
import type { Client } from '../../../shared/client/client.ts'
import { deployments, events, leases, pods } from '../../../shared/client/resources.ts'
import { startTestControlPlane } from '../../harness/control-plane.ts'
import { etcdPrograms, noEtcd, startEtcd } from '../../harness/etcd.ts'
import { skipOrFail } from '../../harness/skip.ts'
import { until } from '../../harness/until.ts'

const namespace = 'kube-system'
const leaseNames = ['kube-controller-manager', 'kube-scheduler']
const lease = (client: Client, name: string) => client.get<Lease>(leases, { namespace, name }).catch(ignoreNotFound)

const deployment = (name: string, replicas: number) => ({
  metadata: { name, namespace: 'default' },
  spec: {
    replicas,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'c', image: 'x' }] } },
  },
})

const podsOf = async (client: Client, name: string): Promise<Pod[]> =>
  (await client.list<Pod>(pods, { namespace: 'default', labelSelector: `app=${name}` })).items

t.test('in memory the loops run without a Lease, unless the flag asks for one', async (t) => {
  const plain = await startTestControlPlane(t, { scheduler: true })
  for (const name of leaseNames) t.notOk(await lease(plain.client, name), name)
  const elected = await startTestControlPlane(t, { scheduler: true, leaderElect: true })
  for (const name of leaseNames) t.match(await lease(elected.client, name), { spec: { leaseTransitions: 0 } }, name)
})

const program = etcdPrograms()[0]
if (!program) skipOrFail(t, noEtcd)
else t.test(`two API servers on one etcd ${program.version}`, (t) => oneLeads(t, program))

async function oneLeads(t: Test, program: { file: string; version: string }): Promise<void> {
  const { url } = await startEtcd(t, program)
  const options = { storage: { engine: 'etcd', endpoints: [url] } as const, scheduler: true }
  const first = await startTestControlPlane(t, options)
  const second = await startTestControlPlane(t, { ...options, pkiOf: first })

  await t.test('the loops of one of them run', async (t) => {
    await second.client.create<object>(deployments, deployment('web', 5))
    await until(async () => (await podsOf(first.client, 'web')).length >= 5, { what: 'five pods' })
    await until(
      async () =>
        (await first.client.get<Deployment>(deployments, { namespace: 'default', name: 'web' })).status?.replicas === 5,
      { what: 'the status' },
    )
    t.equal((await podsOf(second.client, 'web')).length, 5)
    for (const name of leaseNames) {
      const { spec, metadata } = (await lease(second.client, name))!
      t.match(spec, { leaseDurationSeconds: 15, leaseTransitions: 0 })
      const told = await until(
        async () => {
          const { items } = await second.client.list<Event>(events, { namespace })
          return items.find(({ involvedObject: { uid } }) => uid === metadata.uid)
        },
        { what: 'the event' },
      )
      t.match(told, {
        reason: 'LeaderElection',
        type: 'Normal',
        message: `${spec?.holderIdentity} became leader`,
        involvedObject: { kind: 'Lease', apiVersion: 'coordination.k8s.io/v1', name, namespace },
        source: { component: name },
      })
    }
  })

  await t.test('a leader that ends gives its Leases up, and the loops of the other go on', async (t) => {
    await first.close()
    const { client } = second
    await client.patch(deployments, { namespace: 'default', name: 'web' }, { spec: { replicas: 7 } })
    await until(async () => (await podsOf(client, 'web')).length === 7, { what: 'two more pods', timeoutMs: 10_000 })
    for (const name of leaseNames) t.match(await lease(client, name), { spec: { leaseTransitions: 1 } })
  })
}
