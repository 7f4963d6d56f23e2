/** Addresses and networks of every kind that has some, as kube-apiserver 1.36.3 takes them. */
import t from 'tap'
import {
  addressProblems,
  addressWarnings,
  cidrProblems,
  cidrWarnings,
  isStrictSubset,
} from '../../apiserver/validation/ip.ts'
import type { Status } from '../../shared/api/types.ts'
import { type Received, startTestApiServer } from '../harness/api-server.ts'

t.test('addresses', async (t) => {
  const zeros = ['must not have leading 0s']
  const mapped = ['must not be an IPv4-mapped IPv6 address']
  for (const [text, problems] of Object.entries({
    '1.2.3.4': [],
    '::1': [],
    'FE80::0001': [],
    '::ffff:1:2:3': [],
    '01.2.3.4': zeros,
    '1.2.3.004': zeros,
    '::ffff:1.2.3.4': mapped,
    '0:0:0:0:0:ffff:1.2.3.4': mapped,
  }))
    t.same(addressProblems(text), problems, text)
  for (const text of ['', 'x', '1.2.3', '256.1.1.1', 'fe80::1%eth0', ' 1.2.3.4', '1.2.3.4/24'])
    t.match(addressProblems(text), [/^must be a valid IP address/], text)
  t.same(addressWarnings('fd00::1', 'a'), [])
  t.same(addressWarnings('1.2.3.4', 'a'), [])
  t.same(addressWarnings('FD00::01', 'a'), [
    'a: IPv6 address "FD00::01" should be in RFC 5952 canonical format ("fd00::1")',
  ])
})

t.test('networks', async (t) => {
  const zeros = 'must not have leading 0s in IP or prefix length'
  for (const [text, problem] of Object.entries({
    '10.0.0.0/8': undefined,
    '0.0.0.0/0': undefined,
    '::/0': undefined,
    'fd00::/64': undefined,
    '10.0.0.1/8': 'must not have bits set beyond the prefix length',
    'fd00::1/64': 'must not have bits set beyond the prefix length',
    '10.0.0.0/08': zeros,
    '010.0.0.0/8': zeros,
    '::ffff:1.2.3.0/120': 'must not have an IPv4-mapped IPv6 address',
  }))
    t.equal(cidrProblems(text)[0], problem, text)
  for (const text of ['', 'x', '10.0.0.0', '10.0.0.0/33', '10.0.0.0/', 'fe80::1%e/64', '10.0.0.0/8 '])
    t.match(cidrProblems(text), [/^must be a valid CIDR value/], text)
  t.same(cidrWarnings('fd00::/64', 'a'), [])
  t.match(cidrWarnings('FD00:0::/64', 'a'), [/^a: IPv6 CIDR value .* canonical format \("fd00::\/64"\)$/])
  t.equal(isStrictSubset('10.1.0.0/16', '10.0.0.0/8'), true)
  t.equal(isStrictSubset('10.0.0.0/8', '10.0.0.0/8'), false)
  t.equal(isStrictSubset('fd00::/64', '10.0.0.0/8'), false)
  t.equal(isStrictSubset('11.0.0.0/16', '10.0.0.0/8'), false)
  t.equal(isStrictSubset('x', '10.0.0.0/8'), undefined)
})

const inDefault = (path: string, kinds: string): string => `${path}/namespaces/default/${kinds}`
const messageOf = ({ body }: Received): string => (body as Status).message ?? ''

t.test('of objects', async (t) => {
  const server = await startTestApiServer(t)
  const refused = async (path: string, fields: object, words: RegExp): Promise<void> => {
    const answer = await server.send(path, { method: 'POST', body: { metadata: { name: 'x' }, ...fields } })
    t.equal(answer.status, 422)
    t.match(messageOf(answer), words)
  }
  const services = inDefault('/api/v1', 'services')
  const port = { ports: [{ port: 80 }] }
  await refused(services, { spec: { ...port, externalIPs: ['01.2.3.4'] } }, /externalIPs\[0\].*leading 0s/)
  await refused(services, { spec: { ...port, clusterIP: '010.96.5.5' } }, /clusterIPs\[0\].*leading 0s/)
  const ranges = { type: 'LoadBalancer', loadBalancerSourceRanges: ['10.0.0.1/8'] }
  await refused(services, { spec: { ...port, ...ranges } }, /LoadBalancerSourceRanges\[0\].*beyond the prefix/)
  const policies = inDefault('/apis/networking.k8s.io/v1', 'networkpolicies')
  const policy = (ipBlock: object) => ({ spec: { podSelector: {}, ingress: [{ from: [{ ipBlock }] }] } })
  await refused(policies, policy({ cidr: '10.0.0.1/8' }), /cidr.*beyond the prefix length/)
  const whole = policy({ cidr: '10.0.0.0/8', except: ['10.0.0.0/8'] })
  await refused(policies, whole, /except\[0\].*strict subset of `cidr`/)
  const two = { spec: { podCIDRs: ['10.0.0.0/24', '10.0.1.0/24'] } }
  await refused('/api/v1/nodes', two, /no more than one CIDR for each IP family/)
  const slices = inDefault('/apis/discovery.k8s.io/v1', 'endpointslices')
  const slice = (addressType: string, address: string) => ({ addressType, endpoints: [{ addresses: [address] }] })
  await refused(slices, slice('IPv6', 'FD00::1'), /canonical form \("fd00::1"\)/)
  await refused(slices, slice('FQDN', 'x'), /at least two segments separated by dots/)
})

t.test('the address of a pod is the first of its addresses, whichever was written', async (t) => {
  const server = await startTestApiServer(t)
  const path = inDefault('/api/v1', 'pods')
  const spec = { nodeName: 'n', containers: [{ name: 'c', image: 'i' }] }
  await server.send(path, { method: 'POST', body: { metadata: { name: 'p' }, spec } })
  const headers = { 'content-type': 'application/merge-patch+json' }
  const write = (status: object): Promise<Received> =>
    server.send(`${path}/p/status`, { method: 'PATCH', headers, body: { status } })
  const written = async (status: object, podIP: string): Promise<void> => {
    const { body } = await write(status)
    const podIPs = [{ ip: podIP }]
    t.match(body, { status: { podIP, podIPs } })
    const owners = JSON.stringify((body as { metadata: { managedFields: object[] } }).metadata.managedFields)
    t.ok(owners.includes('"f:podIP"') && owners.includes(`k:{\\"ip\\":\\"${podIP}\\"}`), 'both have an owner')
  }
  await written({ podIP: '10.0.0.1' }, '10.0.0.1')
  await written({ podIP: '10.0.0.2' }, '10.0.0.2')
  await written({ podIP: null, podIPs: [{ ip: '10.0.0.3' }] }, '10.0.0.3')
  t.match(messageOf(await write({ observedGeneration: -1 })), /status.observedGeneration.*non-negative integer/)
  t.match(messageOf(await write({ nominatedNodeName: 'm' })), /already bound to a node/)
  t.match(messageOf(await write({ resourceClaimStatuses: [{ name: 'x' }] })), /must match the name of an entry/)
})
