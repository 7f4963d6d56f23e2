/** Ranges of nodes for their pods, as upstream's node-ipam-controller gives them out. */
import t from 'tap'
import { freeRange, startNodeIpam } from '../../controllers/node-ipam.ts'
import type { Node } from '../../shared/api/types.ts'
import { nodes } from '../../shared/client/resources.ts'
import { startTestControlPlane } from '../harness/control-plane.ts'
import { startTestLoop } from '../harness/loop.ts'
import { until } from '../harness/until.ts'

t.test('each node gets the next range that none has', async (t) => {
  const { client } = await startTestControlPlane(t, { clusterCidr: '10.244.0.0/22' })
  const create = (name: string, podCIDR?: string) =>
    client.create<Node>(nodes, { metadata: { name }, spec: podCIDR ? { podCIDR } : {} })
  const rangesOf = async (name: string) => (await client.get<Node>(nodes, { name })).spec?.podCIDRs
  await create('own', '10.244.1.0/25')
  for (const [name, range] of [
    ['a', '10.244.0.0/24'],
    ['b', '10.244.2.0/24'],
    ['c', '10.244.3.0/24'],
  ] as const) {
    await create(name)
    t.same(await until(() => rangesOf(name), { what: `the range of ${name}` }), [range])
  }
  await create('none')
  await client.delete(nodes, { name: 'b' })
  await client.patch(nodes, { name: 'none' }, { metadata: { labels: { a: 'b' } } })
  t.same(await until(() => rangesOf('none'), { what: 'a range that is free again' }), ['10.244.2.0/24'])
})

t.test('a node gets its range by one write', async (t) => {
  const { client } = await startTestControlPlane(t, { controllers: ['-*'] })
  const { writes } = startTestLoop(t, client, (context) => startNodeIpam(context, '10.244.0.0/22'))
  const isWritten = (name: string) =>
    until(() => writes.includes(`patch nodes/${name}`), { what: `a range of ${name}` })
  await client.create<Node>(nodes, { metadata: { name: 'first' } })
  await isWritten('first')
  await client.patch(nodes, { name: 'first' }, { metadata: { labels: { a: 'b' } } })
  await client.create<Node>(nodes, { metadata: { name: 'second' } })
  await isWritten('second')
  t.same(writes, ['patch nodes/first', 'patch nodes/second'])
})

t.test('a range of a cluster', async (t) => {
  t.equal(freeRange('10.1.0.0/16', []), '10.1.0.0/24')
  t.equal(freeRange('10.1.0.0/16', ['10.1.0.0/23', 'fd00::/64']), '10.1.2.0/24')
  t.equal(freeRange('10.1.5.0/26', []), '10.1.5.0/26', 'one that is smaller than a node’s goes to the first node')
  t.equal(freeRange('10.1.5.0/26', ['10.1.5.0/26']), undefined)
})
