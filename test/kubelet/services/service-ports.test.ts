/** Where the traffic of a Service goes, and the rules that lead it there. */
import t from 'tap'
import { EndpointChoice } from '../../../kubelet/services/endpoint-choice.ts'
import { rulesOf } from '../../../kubelet/services/rules.ts'
import { type ServicePort, servicePorts } from '../../../kubelet/services/service-ports.ts'
import { staleFlows } from '../../../kubelet/services/stale-flows.ts'
import type { Service } from '../../../shared/api/types.ts'
import type { EndpointSlice } from '../../../shared/api/workloads/workloads.ts'
import { createVirtualClock } from '../../../shared/clock/virtual-clock.ts'

type Endpoints = EndpointSlice['endpoints']
const port = { name: 'http', port: 80, protocol: 'TCP' }
const serviceWith = (spec: Service['spec'], name = 'web'): Service => ({
  metadata: { name, namespace: 'default' },
  spec: { clusterIP: '10.96.0.7', ports: [port], ...spec },
})
const sliceWith = (endpoints: Endpoints): EndpointSlice => ({
  metadata: { name: 'web-x', namespace: 'default' },
  addressType: 'IPv4',
  ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
  endpoints,
})
const portsOf = (service: Service, slices: EndpointSlice[] = []) =>
  servicePorts({ list: () => [service].values(), slices: () => slices }, { name: 'node-1', machine: '10.244.0.254' })
const ipsOf = (endpoints: Endpoints, spec: Service['spec'] = {}) =>
  portsOf(serviceWith(spec), [sliceWith(endpoints)])[0]?.endpoints.map(({ ip }) => ip)

t.test('endpoints', (t) => {
  const ready = { addresses: ['10.244.0.5'], nodeName: 'node-1' }
  const other = { addresses: ['10.244.1.5'], nodeName: 'node-2', conditions: { ready: true } }
  const ending = { addresses: ['10.244.0.6'], conditions: { ready: false, serving: true, terminating: true } }
  const ended = { addresses: ['10.244.0.7'], conditions: { ready: false, serving: false, terminating: true } }
  const unready = { addresses: ['10.244.0.8'], conditions: { ready: false, serving: false, terminating: false } }
  t.same(ipsOf([ready, other, ending, unready]), ['10.244.0.5', '10.244.1.5'])
  t.same(ipsOf([ending, ended, unready]), ['10.244.0.6'], 'what ends and still serves, where none is ready')
  t.same(ipsOf([ready, other], { internalTrafficPolicy: 'Local' }), ['10.244.0.5'])
  t.same(ipsOf([{ addresses: ['127.0.0.1'] }]), ['10.244.0.254'], 'the machine has an address beside its loopback')
  t.same(portsOf(serviceWith({}), [{ ...sliceWith([ready]), addressType: 'FQDN' }])[0]?.endpoints, [])
  t.end()
})

t.test('ports', (t) => {
  t.same(portsOf(serviceWith({ clusterIP: 'None' })), [], 'a headless Service has none')
  t.same(portsOf(serviceWith({}, 'kubernetes')), [], 'the API server is served otherwise')
  const sctp = serviceWith({ ports: [{ ...port, protocol: 'SCTP' }] })
  t.match(portsOf(sctp), [{ protocol: 'sctp', port: 80 }])
  const open = { type: 'NodePort', externalIPs: ['192.0.2.7'], externalTrafficPolicy: 'Local' }
  const slice = sliceWith([{ addresses: ['10.244.1.5'], nodeName: 'node-2' }])
  const found = portsOf(serviceWith({ ...open, ports: [{ ...port, nodePort: 30_080 }] }), [slice])
  t.same(
    found.map(({ ip, port, endpoints }) => [ip, port, endpoints.length]),
    [
      ['10.96.0.7', 80, 1],
      ['192.0.2.7', 80, 0],
      [undefined, 30_080, 0],
    ],
    'from outside, only to endpoints of this node',
  )
  const ingress = [{ ip: '192.0.2.8' }, { ip: '192.0.2.9', ipMode: 'Proxy' }, { hostname: 'example.com' }]
  t.same(
    portsOf({ ...serviceWith({}), status: { loadBalancer: { ingress } } }).map(({ ip }) => ip),
    ['10.96.0.7', '192.0.2.8'],
  )
  t.match(portsOf(serviceWith({ sessionAffinity: 'ClientIP' })), [{ affinitySeconds: 10_800 }])
  t.end()
})

t.test('exchanges of datagrams are forgotten where endpoints change', (t) => {
  const end = (last: number) => ({ ip: `10.244.0.${last}`, port: 5353 })
  const dns = { ip: '10.96.0.7', protocol: 'udp' as const, port: 53, endpoints: [end(5), end(6)] }
  const opened = { protocol: 'udp' as const, port: 30_053, endpoints: [end(5)] }
  const web = { ip: '10.96.0.7', protocol: 'tcp' as const, port: 80, endpoints: [end(5)] }
  const stale = (before: ServicePort[], now: ServicePort[]) =>
    staleFlows(before, now, ['10.244.0.1', '192.0.2.2']).map(({ at, ends }) => [
      `${at.host}:${at.port}`,
      ...ends.map(({ host }) => host),
    ])
  t.same(stale([dns, web], [dns, { ...web, endpoints: [] }]), [], 'connections end by themselves')
  t.same(stale([dns], [{ ...dns, endpoints: [end(6)] }]), [['10.96.0.7:53', '10.244.0.6']])
  t.same(stale([dns], []), [['10.96.0.7:53']], 'with the Service all of them')
  const ofNodes = [
    ['10.244.0.1:30053', '10.244.0.5'],
    ['192.0.2.2:30053', '10.244.0.5'],
  ]
  t.same(stale([{ ...opened, endpoints: [] }], [opened]), ofNodes, 'also those that found no endpoint')
  t.end()
})

t.test('endpoints are chosen by chance, and again for a client that has been there', async (t) => {
  const clock = createVirtualClock()
  const choice = new EndpointChoice(clock)
  const ends = [5, 6, 7].map((last) => ({ ip: `10.244.0.${last}`, port: 8080 }))
  const many = (client: string) => new Set(Array.from({ length: 200 }, () => choice.next(client)?.host))
  t.equal(choice.next('a'), undefined)
  choice.use({ endpoints: ends })
  t.equal(many('a').size, 3)
  choice.use({ endpoints: ends, affinitySeconds: 60 })
  const [first = ''] = many('a')
  t.same([...many('a')], [first])
  choice.use({ endpoints: ends.filter(({ ip }) => ip !== first), affinitySeconds: 60 })
  const [second] = many('a')
  t.not(second, first, 'an endpoint that is gone is not chosen again')
  for (let n = 0; n < 10_001; n++) choice.next(`other ${n}`)
  t.equal(many('a').size, 1, 'more clients than are remembered')
  await clock.advance(61_000)
  const later = new Set<string | undefined>()
  for (let n = 0; n < 200; n++) {
    later.add(choice.next('a')?.host)
    await clock.advance(61_000)
  }
  t.equal(later.size, 2, 'a client that comes late is a new one')
})

t.test('rules keep what clients need again, and delete the rest', (t) => {
  const place = { node: '10.244.0.1', machine: '10.244.0.254', range: '10.244.0.0/24' }
  const node = { place, machine: ['192.0.2.2'] }
  const two = [5, 6].map((last) => ({ ip: `10.244.0.${last}`, port: 8080 }))
  const served = { ip: '10.96.0.7', protocol: 'tcp' as const, port: 80, endpoints: two, affinitySeconds: 60 }
  const first = rulesOf({ ...node, ports: [served] })
  t.match(first.text, 'delete table ip kubestage\n')
  t.equal(first.sets.size, 2)
  const next = rulesOf({ ...node, ports: [{ ...served, endpoints: two.slice(1) }] }, first)
  t.notMatch(next.text, 'delete table')
  t.equal(next.text.match(/^delete set/gm)?.length, 1)
  t.equal(next.text.match(/^delete chain/gm)?.length, 1)
  const none = rulesOf({ ...node, ports: [{ ...served, endpoints: [] }] }, next)
  t.match(none.text, 'add element ip kubestage ips { 10.96.0.7 }', 'its address is still refused')
  t.notMatch(none.text, 'ports { 10')
  t.end()
})
