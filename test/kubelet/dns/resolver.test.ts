/** Names of the cluster as DNS tells them, and the resolver's manners towards bad packets and bad resolvers. */
import { createSocket } from 'node:dgram'
import { type AddressInfo, createServer } from 'node:net'
import { type DecodedPacket, decode, encode, type RecordType } from 'dns-packet'
import t, { type Test } from 'tap'
import { Forwarder, type Transport } from '../../../kubelet/dns/forwarder.ts'
import { framed, messages } from '../../../kubelet/dns/frames.ts'
import { Resolver } from '../../../kubelet/dns/resolver.ts'
import type { ZoneServices } from '../../../kubelet/dns/zone.ts'
import type { Service } from '../../../shared/api/types.ts'
import type { EndpointSlice } from '../../../shared/api/workloads/workloads.ts'
import { realClock } from '../../../shared/clock/real-clock.ts'
import { createVirtualClock } from '../../../shared/clock/virtual-clock.ts'

const service = (name: string, spec: Service['spec']): Service => ({ metadata: { name, namespace: 'ns' }, spec })
const slice = (name: string, endpoints: EndpointSlice['endpoints']): EndpointSlice => ({
  metadata: { name: `${name}-x`, namespace: 'ns', labels: { 'kubernetes.io/service-name': name } },
  addressType: 'IPv4',
  ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
  endpoints,
})
const http = [{ name: 'http', port: 80, protocol: 'TCP' }]
const all = [
  service('web', { clusterIP: '10.96.0.7', clusterIPs: ['10.96.0.7'], ports: http }),
  service('set', { clusterIP: 'None', clusterIPs: ['None'], ports: http }),
  service('many', { clusterIP: 'None', clusterIPs: ['None'], ports: http }),
  service('empty', { clusterIP: 'None', clusterIPs: ['None'], ports: http }),
  service('out', { type: 'ExternalName', externalName: 'real.example.' }),
  service('near', { type: 'ExternalName', externalName: 'web.ns.svc.cluster.local' }),
  service('a', { type: 'ExternalName', externalName: 'b.ns.svc.cluster.local' }),
  service('b', { type: 'ExternalName', externalName: 'a.ns.svc.cluster.local' }),
]
const slices = [
  slice('set', [
    { addresses: ['10.244.0.5'], hostname: 'set-0', conditions: { ready: true } },
    { addresses: ['10.244.0.6'], conditions: {} },
    { addresses: ['10.244.0.9'], hostname: 'set-2', conditions: { ready: false } },
  ]),
  slice(
    'many',
    Array.from({ length: 100 }, (_, index) => ({ addresses: [`10.244.1.${index}`] })),
  ),
]
const services: ZoneServices = {
  service: (_, name) => all.find(({ metadata }) => metadata.name === name),
  slices: (_, name) => slices.filter(({ metadata }) => metadata.name === `${name}-x`),
  withClusterIP: (ip) => all.find(({ spec }) => spec?.clusterIP === ip),
  slicesWith: (ip) => slices.filter(({ endpoints }) => endpoints?.some(({ addresses }) => addresses.includes(ip))),
  hasNamespace: (name) => name === 'ns',
  onChange: () => {},
}
const outside = {
  async ask(bytes: Buffer): Promise<Buffer> {
    const { id, questions } = decode(bytes)
    const [name] = (questions ?? []).map((one) => one.name)
    const answers = [{ type: 'A' as const, name: name ?? '', data: '192.0.2.1' }]
    return encode({ type: 'response', id, questions, answers })
  },
}
const query = (name: string, type: RecordType, more: object = {}): Buffer =>
  encode({ type: 'query', id: 7, flags: 0x100, questions: [{ name, type }], ...more })

async function ask(bytes: Buffer, transport: Transport = 'udp'): Promise<DecodedPacket & { code: number }> {
  const answer = await new Resolver(services, outside).answer(bytes, transport)
  if (!answer) throw new Error('no answer')
  return { ...decode(answer), code: answer.readUInt8(3) & 0xf }
}

t.test('names of the cluster', async (t) => {
  const answers = async (name: string, type: RecordType = 'A'): Promise<unknown[]> => {
    const { answers = [], code } = await ask(query(name, type))
    const data = answers.map((answer) => ('data' in answer ? answer.data : undefined))
    return [code, ...data.sort((a, b) => String(a).localeCompare(String(b)))]
  }
  const suffix = 'ns.svc.cluster.local'
  t.same(await answers(`web.${suffix}`), [0, '10.96.0.7'])
  t.same(await answers(`WEB.${suffix}`), [0, '10.96.0.7'])
  t.same(await answers(`web.${suffix}`, 'AAAA'), [0], 'it exists, without such an address')
  t.same(await answers(`none.${suffix}`), [3])
  t.same(await answers('svc.cluster.local'), [0])
  t.same(await answers(suffix), [0])
  t.same(await answers('other.svc.cluster.local'), [3])
  t.same(await answers('web.ns.cluster.local'), [3])
  t.same(await answers(`set.${suffix}`), [0, '10.244.0.5', '10.244.0.6'], 'those that are ready')
  t.same(await answers(`empty.${suffix}`), [0])
  t.same(await answers(`set-0.set.${suffix}`), [0, '10.244.0.5'])
  t.same(await answers(`10-244-0-6.set.${suffix}`), [0, '10.244.0.6'])
  t.same(await answers(`set-2.set.${suffix}`), [3])
  t.same(await answers('10-244-0-6.ns.pod.cluster.local'), [0, '10.244.0.6'])
  t.same(await answers('10-244-0-600.ns.pod.cluster.local'), [3])
  t.same(await answers(`near.${suffix}`), [0, '10.96.0.7', 'web.ns.svc.cluster.local'])
  t.same(await answers(`out.${suffix}`), [0, '192.0.2.1', 'real.example'])
  t.same(await answers(`out.${suffix}`, 'CNAME'), [0, 'real.example'])
  t.same(await answers(`a.${suffix}`), [2], 'a loop of aliases')
  t.same(await answers('7.0.96.10.in-addr.arpa', 'PTR'), [0, `web.${suffix}`])
  t.same(await answers('5.0.244.10.in-addr.arpa', 'PTR'), [0, `set-0.set.${suffix}`])
  t.same(await answers('example.com'), [0, '192.0.2.1'], 'what is not of the cluster is passed on')
  const web = { target: `web.${suffix}`, port: 80, priority: 0, weight: 100 }
  t.same(await answers(`_http._tcp.web.${suffix}`, 'SRV'), [0, web])
  t.same(await answers(`_http._udp.web.${suffix}`, 'SRV'), [3])
  const found = await ask(query(`_http._tcp.set.${suffix}`, 'SRV'))
  t.match(found.answers, [
    { data: { target: /set\.ns/, port: 8080, weight: 50 } },
    { data: { target: /set\.ns/, port: 8080 } },
  ])
  t.match(found.additionals, [{ name: `set-0.set.${suffix}`, type: 'A', data: '10.244.0.5' }])
})

t.test('answers are kept until Services change', async (t) => {
  let changed = () => {}
  let found = slices
  const resolver = new Resolver(
    {
      ...services,
      slices: (_, name) => found.filter(({ metadata }) => metadata.name === `${name}-x`),
      onChange: (call) => (changed = call),
    },
    outside,
  )
  const question = query('set.ns.svc.cluster.local', 'A')
  const first = (bytes: Buffer | undefined): [number | undefined, unknown] => {
    const { id, answers: [answer] = [] } = decode(bytes ?? Buffer.alloc(12))
    return [id, answer && 'data' in answer ? answer.data : undefined]
  }
  t.equal(resolver.cached(question, 'udp'), undefined)
  await resolver.answer(question, 'udp')
  const another = Buffer.from(question)
  another.writeUInt16BE(9)
  const kept = Array.from({ length: 100 }, () => first(resolver.cached(another, 'udp')))
  t.same(new Set(kept.map(([id]) => id)), new Set([9]), 'each question has its id')
  t.same(new Set(kept.map(([, ip]) => ip)), new Set(['10.244.0.5', '10.244.0.6']), 'each address comes first')
  t.equal(resolver.cached(another, 'tcp'), undefined, 'an answer by TCP may be longer')
  found = []
  changed()
  t.equal(resolver.cached(question, 'udp'), undefined)
  t.same(first(await resolver.answer(question, 'udp')), [7, undefined])
  for (const name of ['out.ns.svc.cluster.local', 'example.com']) {
    await resolver.answer(query(name, 'A'), 'udp')
    t.equal(resolver.cached(query(name, 'A'), 'udp'), undefined, `${name} is another resolver's`)
  }
})

const opt = { extendedRcode: 0, ednsVersion: 0, flags: 0, flag_do: false, options: [] }

t.test('long answers', async (t) => {
  const name = 'many.ns.svc.cluster.local'
  const cut = await ask(query(name, 'A'))
  t.match(cut, { flag_tc: true, answers: [] })
  t.equal((await ask(query(name, 'A'), 'tcp')).answers?.length, 100)
  const extended = await ask(
    query(name, 'A', { additionals: [{ type: 'OPT', name: '.', ...opt, udpPayloadSize: 4_096 }] }),
  )
  t.match(extended.additionals, [{ type: 'OPT' }])
})

t.test('packets that are no questions', async (t) => {
  const resolver = new Resolver(services, outside)
  const code = async (bytes: Buffer) => (await resolver.answer(bytes, 'udp'))?.readUInt8(3)
  const good = query('web.ns.svc.cluster.local', 'A')
  const changed = (at: number, value: number): Buffer => {
    const bytes = Buffer.from(good)
    bytes.writeUInt8(value, at)
    return bytes
  }
  t.equal(await code(Buffer.alloc(3)), undefined)
  t.equal(await code(changed(2, 0x80)), undefined, 'an answer gets none: two resolvers would never end')
  t.equal(await code(good.subarray(0, 20)), 0x81, 'cut off')
  t.equal(await code(changed(5, 0)), 0x81, 'without a question')
  t.equal(await code(changed(5, 9)), 0x81, 'fewer questions than it says')
  t.equal(await code(changed(2, 0x28)), 0x84, 'an update')
  t.equal(await code(changed(good.length - 1, 3)), 0x85, 'of another class')
  const pointer = Buffer.concat([good.subarray(0, 12), Buffer.from([0xc0, 12, 0, 1, 0, 1])])
  t.equal(await code(pointer), 0x81, 'a name that points to itself')
})

async function resolverOf(t: Test, answer: (question: Buffer) => Buffer | undefined) {
  const socket = createSocket('udp4')
  t.teardown(() => socket.close())
  socket.on('message', (question, { port, address }) => {
    const bytes = answer(question)
    if (bytes) socket.send(bytes, port, address)
  })
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  return { host: '127.0.0.1', port: socket.address().port }
}
const flagged = (question: Buffer): Buffer => {
  const bytes = Buffer.from(question)
  bytes.writeUInt8(0x80, 2)
  return bytes
}

t.test('the machine’s resolvers', async (t) => {
  const told: string[] = []
  const question = query('example.com', 'A')
  await t.test('the first does not answer', async (t) => {
    const clock = createVirtualClock()
    const asked = Promise.withResolvers<void>()
    const silent = await resolverOf(t, () => {
      asked.resolve()
      return undefined
    })
    const good = await resolverOf(t, flagged)
    const forwarder = new Forwarder({ clock, servers: () => [silent, good], warn: (message) => told.push(message) })
    const answer = forwarder.ask(question, 'udp')
    await asked.promise
    await clock.advance(2_000)
    t.same(await answer, flagged(question), 'the second is asked, and the id is that of the question')
    t.same(told, [])
  })
  await t.test('no way leads to the first', async (t) => {
    const good = await resolverOf(t, flagged)
    const broadcast = { host: '255.255.255.255', port: 53 } // the kernel refuses to connect
    const warn = (message: string) => void told.push(message)
    const lone = new Forwarder({ clock: realClock, servers: () => [broadcast], warn })
    t.equal(await lone.ask(question, 'udp'), undefined)
    t.match(told.splice(0), [/^names outside of the cluster cannot be resolved: 255\.255\.255\.255: .*EACCES/])
    const forwarder = new Forwarder({ clock: realClock, servers: () => [broadcast, good], warn })
    t.same(await forwarder.ask(question, 'udp'), flagged(question))
  })
  await t.test('none answers, and there is a bound', async (t) => {
    const clock = createVirtualClock()
    let seen = 0
    const silent = await resolverOf(t, () => {
      seen += 1
      return undefined
    })
    const forwarder = new Forwarder({ clock, servers: () => [silent], warn: (message) => told.push(message) })
    const asked = Array.from({ length: 256 }, () => forwarder.ask(question, 'udp'))
    t.equal(await forwarder.ask(question, 'udp'), undefined)
    t.match(told.shift(), 'names outside of the cluster cannot be resolved: 256 questions wait for answers')
    await clock.advance(2_000)
    t.same(new Set(await Promise.all(asked)), new Set([undefined]))
    t.same(told, ['names outside of the cluster cannot be resolved: 127.0.0.1: no answer within 2 s'], 'told once')
    t.ok(seen <= 256)
  })
  await t.test('by a connection', async (t) => {
    const server = createServer(async (socket) => {
      for await (const asked of messages(socket)) socket.write(framed(flagged(asked)))
    }).listen(0, '127.0.0.1')
    t.teardown(() => server.close())
    await new Promise((resolve) => server.once('listening', resolve))
    const { port } = server.address() as AddressInfo
    const servers = () => [{ host: '127.0.0.1', port }]
    const forwarder = new Forwarder({ clock: realClock, servers, warn: (message) => told.push(message) })
    t.same(await forwarder.ask(question, 'tcp'), flagged(question))
  })
})
