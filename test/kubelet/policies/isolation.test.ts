/** What NetworkPolicies let pass, and the rules for it. */
import t from 'tap'
import { mergeSpans, spansOfBlock, spanText } from '../../../kubelet/policies/address-spans.ts'
import { isolationsOf, type Opening, type PodFacts } from '../../../kubelet/policies/isolation.ts'
import { policyRules } from '../../../kubelet/policies/policy-rules.ts'
import type { NetworkPolicySpec } from '../../../shared/api/services/network-policy.ts'

const pod = (ip: string, app: string, namespace = 'one', port = 8080): PodFacts => ({
  ip,
  namespace,
  labels: { app },
  ports: [{ name: 'http', protocol: 'TCP', port }],
})
const web = pod('10.0.0.5', 'web')
const client = pod('10.0.0.6', 'client')
const far = pod('10.0.1.7', 'client', 'two', 9090)
const namespaces: Record<string, Record<string, string>> = { one: { team: 'a' }, two: { team: 'b' } }
const isolations = (...specs: NetworkPolicySpec[]) =>
  isolationsOf({
    policies: specs.map((spec, index) => ({ metadata: { name: `p${index}`, namespace: 'one' }, spec })),
    pods: [web, client, far],
    namespace: (name) => namespaces[name],
    isOwn: (ip) => ip.startsWith('10.0.0.'),
  })
const texts = (openings: readonly Opening[] | undefined): string[] | undefined =>
  openings?.map(({ addresses, ports }) => {
    const spans = ports?.map(({ protocol, first, last }) => `${protocol} ${first ?? '*'}-${last ?? '*'}`)
    return `${addresses.map(spanText).join(' ')} ${spans?.join(' ') ?? 'all'}`
  })
const ingressOf = (ingress: NetworkPolicySpec['ingress']) =>
  texts(
    isolations({ podSelector: { matchLabels: { app: 'web' } }, policyTypes: ['Ingress'], ingress }).ingress[0]
      ?.openings,
  )
const egressOf = (egress: NetworkPolicySpec['egress']) =>
  texts(
    isolations({ podSelector: { matchLabels: { app: 'web' } }, policyTypes: ['Egress'], egress }).egress[0]?.openings,
  )
const all = '0.0.0.0-255.255.255.255'

t.test('who is isolated', (t) => {
  t.same(isolations(), { ingress: [], egress: [] })
  const deny = isolations({ podSelector: {}, policyTypes: ['Ingress', 'Egress'] })
  const both = [web, client].map(({ ip }) => ({ ip, openings: [] }))
  t.same(deny, { ingress: both, egress: both }, 'all of the namespace on this node')
  t.same(isolations({ podSelector: { matchLabels: { app: 'none' } } }), { ingress: [], egress: [] })
  const ignored = isolations({ podSelector: {}, policyTypes: ['Ingress'], egress: [{}] })
  t.same(ignored.egress, [], 'rules of a type that is not named')
  t.end()
})

t.test('peers', (t) => {
  t.same(ingressOf([]), [])
  t.same(ingressOf([{}]), [`${all} all`])
  t.same(ingressOf([{ from: [{ podSelector: { matchLabels: { app: 'client' } } }] }]), ['10.0.0.6 all'])
  t.same(ingressOf([{ from: [{ namespaceSelector: {} }] }]), ['10.0.0.5-10.0.0.6 10.0.1.7 all'])
  const others = { namespaceSelector: { matchLabels: { team: 'b' } } }
  t.same(ingressOf([{ from: [others] }]), ['10.0.1.7 all'])
  t.same(ingressOf([{ from: [{ ...others, podSelector: { matchLabels: { app: 'web' } } }] }]), [], 'nobody')
  const block = { cidr: '10.0.0.0/8', except: ['10.0.0.0/24', '10.255.0.0/16'] }
  t.same(ingressOf([{ from: [{ ipBlock: block }] }]), ['10.0.1.0-10.254.255.255 all'])
  t.same(ingressOf([{ from: [{ ipBlock: { cidr: 'fd00::/8' } }] }]), [], 'addresses that no pod has')
  const two = isolations({ podSelector: {}, ingress: [{}] }, { podSelector: {}, ingress: [{ ports: [{ port: 1 }] }] })
  t.same(texts(two.ingress[0]?.openings), [`${all} all`, `${all} TCP 1-1`], 'policies add up')
  t.end()
})

t.test('ports', (t) => {
  const ports = [{ port: 80, endPort: 90 }, { protocol: 'UDP', port: 53 }, { protocol: 'UDP' }]
  t.same(ingressOf([{ ports }]), [`${all} TCP 80-90 UDP 53-53 UDP *-*`])
  t.same(ingressOf([{ ports: [{ port: 'http' }] }]), [`${all} TCP 8080-8080`], 'a name of the pod itself')
  t.same(ingressOf([{ ports: [{ port: 'other' }] }]), [], 'a name that it does not have')
  t.same(
    egressOf([{ ports: [{ port: 'http' }, { port: 1 }], to: [{ namespaceSelector: {} }] }]),
    ['10.0.0.5-10.0.0.6 10.0.1.7 TCP 1-1', '10.0.0.5-10.0.0.6 TCP 8080-8080', '10.0.1.7 TCP 9090-9090'],
    'a name of each peer',
  )
  t.same(
    egressOf([{ ports: [{ port: 'http' }], to: [{ ipBlock: { cidr: '0.0.0.0/0' } }] }]),
    [],
    'blocks have no names',
  )
  t.end()
})

t.test('spans', (t) => {
  t.same(spansOfBlock('10.0.0.0/24', ['10.0.0.0/24']), [])
  t.same(spansOfBlock('10.0.0.7/30').map(spanText), ['10.0.0.4-10.0.0.7'])
  t.same(
    mergeSpans([
      [5, 6],
      [1, 2],
      [3, 3],
      [6, 9],
    ]),
    [
      [1, 3],
      [5, 9],
    ],
  )
  t.end()
})

t.test('rules', (t) => {
  t.equal(
    policyRules(isolations(), []),
    'add table ip kubestage-policies\ndelete table ip kubestage-policies\n',
    'none without policies',
  )
  const rules = policyRules(
    isolations({ podSelector: {}, ingress: [{ ports: [{ port: 80 }, { port: 80, endPort: 81 }] }] }),
    ['10.0.0.1', '10.0.0.254'],
  )
  t.equal(rules.match(/tcp dport \{ 80-81 \} accept/g)?.length, 1, 'pods with the same openings share a chain')
  t.match(rules, 'ip saddr { 10.0.0.1, 10.0.0.254 } accept', 'the node always passes')
  t.end()
})
