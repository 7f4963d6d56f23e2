/** A kubelet on an API server that refuses endpoints with loopback addresses: pods get theirs out of the node's spec.podCIDR. */
import { networkInterfaces } from 'node:os'
import t from 'tap'
import { nodeAddress } from '../../kubelet/config.ts'
import type { KubeletOptions } from '../../kubelet/kubelet-options.ts'
import { serverKind } from '../../kubelet/node/server-kind.ts'
import { StatusError } from '../../shared/api/status/status-error.ts'
import type { Event, Node } from '../../shared/api/types.ts'
import { nodes } from '../../shared/client/resources.ts'
import type { VersionInfo } from '../../shared/client/rest-client.ts'
import { createVirtualClock } from '../../shared/clock/virtual-clock.ts'
import { kubernetesVersion } from '../../shared/config/kubernetes-version.ts'
import { machine } from './machine.ts'

const foreign: Partial<KubeletOptions> = { isKubestage: async () => false }
/** The rule of the real API server, for EndpointSlices. */
const isLoopback = (ip = ''): boolean => ip.startsWith('127.')

const allocate = ({ client }: ReturnType<typeof machine>, spec: Node['spec']) =>
  client.patch(nodes, { name: 'n1' }, { spec })

t.test('until the node has a range, it is not ready and pods that need an address wait', async (t) => {
  const node = machine(t, {}, foreign)
  const events: Event[] = []
  node.api.onWrite(({ plural, object }) => void (plural === 'events' && events.push(object as unknown as Event)))
  const kubelet = await node.start()
  t.match(node.nodeCondition('Ready'), {
    status: 'False',
    message:
      /^container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady .*spec\.podCIDR.*--pod-cidr/,
  })
  await node.create('waits')
  await node.create('host', { hostNetwork: true })
  await node.clock.advance(5_000)
  t.equal(node.pod('waits')?.status?.podIP, undefined)
  t.match(
    events.find(({ reason }) => reason === 'NetworkNotReady'),
    { type: 'Warning', involvedObject: { name: 'waits' }, message: /^network is not ready: container runtime network/ },
  )
  t.equal(node.container('host')?.started, true, 'the network of the machine is there')

  await allocate(node, { podCIDR: '10.244.3.0/28', podCIDRs: ['fd00::/64', '10.244.3.0/28'] })
  await node.clock.advance(3_000)
  t.match(node.pod('waits')?.status, { podIP: '10.244.3.1', phase: 'Running' }, 'at once')
  t.equal(node.nodeCondition('Ready')?.status, 'True')
  for (let n = 0; n < 13; n++) await node.create(`p${n}`)
  await node.clock.advance(3_000)
  const used = [...kubelet.pods()].filter(({ spec }) => !spec.hostNetwork).map(({ status }) => status?.podIP)
  t.equal(new Set(used).size, 14, 'each pod has its own')
  t.notOk(used.some(isLoopback))
  await node.create('fifteenth')
  await node.clock.advance(3_000)
  t.equal(node.pod('fifteenth')?.status?.podIP, undefined, 'the range is used up')
  t.ok(events.some(({ message }) => message?.endsWith('no pod address is left in 10.244.3.0/28')))
  node.delete('p3')
  await node.clock.advance(30_000)
  t.match(node.pod('fifteenth')?.status?.podIP, /^10\.244\.3\./, 'the address of a pod that is gone')
  await kubelet.close()
})

t.test('a node that has its range already', async (t) => {
  const node = machine(t, {}, foreign)
  await node.client.create(nodes, { metadata: { name: 'n1' }, spec: { podCIDR: '10.244.9.0/24' } })
  const kubelet = await node.start()
  await node.create()
  await node.clock.advance(3_000)
  t.equal(node.pod()?.status?.podIP, '10.244.9.1')
  t.equal(node.nodeCondition('Ready')?.status, 'True')
  await kubelet.close()
})

t.test('a machine that cannot answer on these addresses: pods share that of the node', async (t) => {
  const node = machine(t, {}, { ...foreign, nodeIP: '192.0.2.7' })
  const { usePodAddresses } = node.runtime
  node.runtime.usePodAddresses = (wanted) =>
    wanted.includes('/') ? Promise.resolve('not permitted') : usePodAddresses.call(node.runtime, wanted)
  await node.client.create(nodes, { metadata: { name: 'n1' }, spec: { podCIDR: '10.244.9.0/24' } })
  const kubelet = await node.start()
  for (const name of ['a', 'b']) await node.create(name)
  await node.clock.advance(3_000)
  t.same([node.pod('a')?.status?.podIP, node.pod('b')?.status?.podIP], ['192.0.2.7', '192.0.2.7'])
  t.ok(node.events.includes('PodAddressesShared'))
  await kubelet.close()
})

t.test('the flag decides without asking', async (t) => {
  const ips: Record<string, RegExp> = { '10.99.0.0/16': /^10\.99\.0\./, host: /^127\.0\.0\.1$/, loopback: /^127\.64\./ }
  for (const [podCidr, ip] of Object.entries(ips)) {
    const node = machine(t, {}, { podCidr, isKubestage: () => Promise.reject(new Error('asked')) })
    const kubelet = await node.start()
    await node.create()
    await node.clock.advance(3_000)
    t.match(node.pod()?.status?.podIP, ip, podCidr)
    await kubelet.close()
  }
})

t.test('an API server that is away at first is asked again; its build tells whose it is', async (t) => {
  const clock = createVirtualClock()
  const kindOf = async (...answers: (VersionInfo | Error)[]): Promise<[boolean, errors: number]> => {
    const errors: unknown[] = []
    const version = async (): Promise<VersionInfo> => {
      const answer = answers.shift()
      if (!answer || answer instanceof Error) throw answer
      return answer
    }
    const kind = serverKind({ version, clock, onError: (error) => errors.push(error) })
    const asked = [kind(), kind()]
    await clock.advance(10_000)
    const [first = false, second] = await Promise.all(asked)
    t.equal(first, second)
    return [first, errors.length]
  }
  const away = new Error('connect ECONNREFUSED')
  t.same(await kindOf(away, away, kubernetesVersion), [true, 2])
  t.same(await kindOf({ gitVersion: 'v1.36.3', gitCommit: 'e8b4a2f0' }), [false, 0])
  t.same(await kindOf(new StatusError({ code: 403, message: 'forbidden' })), [false, 0])
})

t.test("the node's address follows the API server", async (t) => {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? [])
  const outside = all.find(({ internal, family }) => !internal && family === 'IPv4')?.address ?? '127.0.0.1'
  const byDefault = { nodeIp: '', supervised: false, network: 'host' as 'host' | 'pod' }
  const addressOf = (server: string, isOurs: boolean, config: Partial<typeof byDefault> = {}): Promise<string> =>
    nodeAddress({ ...byDefault, ...config }, new URL(server), async () => isOurs)
  for (const server of ['https://127.0.0.1:6443', 'https://localhost:6443', 'https://[::1]:6443']) {
    t.equal(await addressOf(server, true), '127.0.0.1', server)
    t.equal(await addressOf(server, false), outside, server)
    t.equal(await addressOf(server, true, { nodeIp: 'auto' }), outside)
  }
  t.equal(await addressOf('https://192.0.2.9:6443', true), outside)
  t.equal(await addressOf('https://192.0.2.9:6443', true, { supervised: true }), '127.0.0.1')
  const own = { supervised: true, network: 'pod' as const }
  t.equal(await addressOf('https://127.0.0.1:6443', true, own), outside, 'pods with networks have their own loopback')
  t.equal(await addressOf('https://192.0.2.9:6443', false, { nodeIp: '192.0.2.7' }), '192.0.2.7')
})
