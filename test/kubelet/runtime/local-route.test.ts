import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { PodAddresses } from '../../../kubelet/runtime/pod-addresses.ts'
import { AddressRange } from '../../../shared/api/services/address-range.ts'
import { run } from '../../harness/run.ts'
import { configOf, sandboxOf, startNode } from './runtime-node.ts'

t.test('the addresses of a range', async (t) => {
  const range = new AddressRange('10.244.1.130/25')
  t.equal(range.cidr, '10.244.1.128/25', 'as the kernel wants it')
  t.same([range.at(0), range.at(range.size - 1)], ['10.244.1.129', '10.244.1.254'])
  t.equal(range.indexOf('10.244.1.131'), 2)
  for (const other of ['10.244.1.128', '10.244.1.255', '10.244.2.131', '127.0.0.1'])
    t.equal(range.indexOf(other), undefined)
  t.same(
    [new AddressRange('255.255.255.255/32').at(0), new AddressRange('0.0.0.0/0').at(0)],
    ['255.255.255.255', '0.0.0.1'],
  )
  t.ok(range.overlaps(new AddressRange('10.0.0.0/8')) && new AddressRange('10.0.0.0/8').overlaps(range))
  t.notOk(range.overlaps(new AddressRange('10.244.1.0/25')))
})

t.test('each address is given once, and again when it is free', async (t) => {
  const addresses = new PodAddresses(new AddressRange('10.0.0.0/29'), -1)
  addresses.keep('10.0.0.2')
  const all = Array.from({ length: 5 }, () => addresses.take())
  t.same([...all].sort(), ['10.0.0.1', '10.0.0.3', '10.0.0.4', '10.0.0.5', '10.0.0.6'])
  t.throws(() => addresses.take(), { message: 'no pod address is left in 10.0.0.0/29' })
  addresses.give('10.0.0.4')
  t.equal(addresses.take(), '10.0.0.4')
})

/** From 198.18.0.0/15, which is reserved for tests of networks. */
const ownRange = (network: string): string =>
  new AddressRange(`${network}.${(process.pid >> 4) & 255}.${(process.pid & 15) << 4}/28`).cidr
const cidr = ownRange('198.18')
const other = ownRange('198.19')
const routes = async (): Promise<string> => (await run('ip', ['route', 'show', 'table', 'local']))?.output ?? ''
const why = process.getuid?.() !== 0 ? 'a route needs root' : (await routes()) ? false : 'the program ip is missing'

t.test(
  'with one route, programs listen on addresses of the range; it goes with the last pod',
  { skip: why },
  async (t) => {
    const node = await startNode(t)
    t.equal(await node.runtime.usePodAddresses(cidr), undefined)
    t.match(await routes(), `local ${cidr} dev lo`)
    const sandbox = await sandboxOf(node.runtime, 'a')
    t.ok(new AddressRange(cidr).indexOf(sandbox.ip) !== undefined, sandbox.ip)
    const server = createServer((socket) => socket.resume().end('hello')).listen(0, sandbox.ip)
    await once(server, 'listening')
    t.equal(await text(connect((server.address() as { port: number }).port, sandbox.ip)), 'hello')
    await new Promise((resolve) => server.close(resolve))
    const running = await node.runtime.startContainer(configOf(node, sandbox, ['sleep', '1000']))

    await node.runtime.close()
    t.match(await routes(), `local ${cidr} dev lo`, 'a pod that runs on keeps its address')
    const again = await node.again()
    t.equal(await again.usePodAddresses(cidr), undefined, 'the next kubelet finds the route')
    t.not((await sandboxOf(again, 'b')).ip, sandbox.ip, 'and which addresses are in use')
    t.equal(await again.usePodAddresses(other), undefined, 'the node has another range now')
    await again.stopContainer(running.id, { signal: 'KILL', gracePeriodMs: 0 })
    await again.close()
    for (const gone of [cidr, other]) t.notMatch(await routes(), gone, 'removed')
  },
)

const networks = Object.values(networkInterfaces()).flatMap((all) => all ?? [])
const own = networks.find(({ internal, family }) => !internal && family === 'IPv4')

t.test('the range of a network that this machine is in is refused', { skip: !own && 'there is none' }, async (t) => {
  const { runtime } = await startNode(t)
  const before = await sandboxOf(runtime, 'a')
  t.match(await runtime.usePodAddresses(`${own?.address}/16`), /overlaps the network of/)
  t.same((await sandboxOf(runtime, 'b')).ip.split('.').slice(0, 2), before.ip.split('.').slice(0, 2), 'nothing changes')
})
