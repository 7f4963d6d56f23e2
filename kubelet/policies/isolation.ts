import {
  fromSelectorObject,
  type LabelSelectorObject,
  type Labels,
  matchesLabels,
} from '../../shared/api/selectors/label-selector.ts'
import type { NetworkPolicy, PolicyPeer, PolicyPort } from '../../shared/api/services/network-policy.ts'
import { type AddressSpan, everywhere, mergeSpans, spanOfAddress, spansOfBlock } from './address-spans.ts'

/** Describes a pod that has a network of its own, as policies ask for it. */
export interface PodFacts {
  namespace: string
  labels: Labels
  ip: string
  /** Ports that have a name. */
  ports: readonly { name: string; protocol: string; port: number }[]
}

export interface ClusterFacts {
  policies: readonly NetworkPolicy[]
  pods: readonly PodFacts[]
  namespace(name: string): Labels
  /** True for the addresses of pods whose traffic is ruled here. */
  isOwn(ip: string): boolean
}

/** Describes what one rule of a policy lets pass. */
export interface Opening {
  /** Where it comes from, or goes to, in order and without overlaps. */
  addresses: readonly AddressSpan[]
  /** Holds them by protocol; absent: all of all. */
  ports?: readonly PortSpan[]
}

export interface PortSpan {
  protocol: string
  /** Holds a port; absent with `last`: all ports. */
  first?: number
  last?: number
}

/** Describes what passes to, or from, a pod that policies isolate. */
export interface Isolation {
  ip: string
  openings: readonly Opening[]
}

export interface Isolations {
  ingress: Isolation[]
  egress: Isolation[]
}

type Direction = keyof Isolations
interface Rule {
  ports: readonly PolicyPort[]
  peers: readonly PodFacts[]
  blocks: readonly AddressSpan[]
  /** True if the rule names no peers, which means all. */
  isForAll: boolean
}

/** Says which of a node's pods policies isolate, and what they still let pass. */
export function isolationsOf(facts: ClusterFacts): Isolations {
  const byNamespace = Map.groupBy(facts.pods, ({ namespace }) => namespace)
  const openings = { ingress: new Map<string, Opening[]>(), egress: new Map<string, Opening[]>() }
  for (const { metadata, spec } of facts.policies) {
    const { namespace = '' } = metadata
    const targets = select(byNamespace.get(namespace) ?? [], spec?.podSelector ?? {}).filter(({ ip }) =>
      facts.isOwn(ip),
    )
    if (!spec || targets.length === 0) continue
    const { policyTypes = ['Ingress'], ingress = [], egress = [] } = spec
    const find = (peers: readonly PolicyPeer[] = []): Omit<Rule, 'ports'> => ({
      isForAll: peers.length === 0,
      peers: peers.flatMap((peer) => podsOf(peer, namespace, byNamespace, facts)),
      blocks: peers.flatMap(({ ipBlock }) => (ipBlock ? spansOfBlock(ipBlock.cidr, ipBlock.except) : [])),
    })
    const rules: Record<Direction, Rule[]> = {
      ingress: policyTypes.includes('Ingress') ? ingress.map(({ ports = [], from }) => ({ ports, ...find(from) })) : [],
      egress: policyTypes.includes('Egress') ? egress.map(({ ports = [], to }) => ({ ports, ...find(to) })) : [],
    }
    for (const target of targets) {
      const add = (direction: Direction, found: Opening[]): void => {
        openings[direction].set(target.ip, [...(openings[direction].get(target.ip) ?? []), ...found])
      }
      if (policyTypes.includes('Ingress'))
        add(
          'ingress',
          rules.ingress.flatMap((rule) => into(rule, target)),
        )
      if (policyTypes.includes('Egress'))
        add(
          'egress',
          rules.egress.flatMap((rule) => outOf(rule, facts.pods)),
        )
    }
  }
  const isolations = (direction: Direction): Isolation[] =>
    [...openings[direction]].map(([ip, found]) => ({ ip, openings: found }))
  return { ingress: isolations('ingress'), egress: isolations('egress') }
}

const select = (pods: readonly PodFacts[], selector: LabelSelectorObject | undefined): readonly PodFacts[] => {
  const wanted = fromSelectorObject(selector)
  return wanted ? pods.filter(({ labels }) => matchesLabels(wanted, labels)) : []
}

function podsOf(
  { podSelector, namespaceSelector, ipBlock }: PolicyPeer,
  own: string,
  byNamespace: ReadonlyMap<string, PodFacts[]>,
  { namespace }: ClusterFacts,
): readonly PodFacts[] {
  if (ipBlock) return []
  const wanted = fromSelectorObject(namespaceSelector)
  const names = wanted ? [...byNamespace.keys()].filter((name) => matchesLabels(wanted, namespace(name))) : [own]
  return names.flatMap((name) => select(byNamespace.get(name) ?? [], podSelector ?? {}))
}

const addressesOf = ({ isForAll, peers, blocks }: Omit<Rule, 'ports'>): readonly AddressSpan[] =>
  isForAll ? everywhere : mergeSpans([...peers.map(({ ip }) => spanOfAddress(ip)), ...blocks])

/** A named port is that of the pod itself. */
function into(rule: Rule, target: PodFacts): Opening[] {
  const addresses = addressesOf(rule)
  if (addresses.length === 0) return []
  if (rule.ports.length === 0) return [{ addresses }]
  const ports = rule.ports.flatMap((port) => numbered(port) ?? named(port, target))
  return ports.length > 0 ? [{ addresses, ports }] : []
}

/** A named port is that of each peer; addresses of blocks have no names. */
function outOf(rule: Rule, all: readonly PodFacts[]): Opening[] {
  const addresses = addressesOf(rule)
  if (addresses.length === 0) return []
  if (rule.ports.length === 0) return [{ addresses }]
  const ports = rule.ports.flatMap((port) => numbered(port) ?? [])
  const places = rule.ports.flatMap((port) =>
    numbered(port)
      ? []
      : (rule.isForAll ? all : rule.peers).flatMap((peer) => named(port, peer).map((span) => ({ span, ip: peer.ip }))),
  )
  const byPort = Map.groupBy(places, ({ span }) => `${span.protocol} ${span.first}`)
  return [
    ...(ports.length > 0 ? [{ addresses, ports }] : []),
    ...[...byPort.values()].map((found) => ({
      addresses: mergeSpans(found.map(({ ip }) => spanOfAddress(ip))),
      ports: found.slice(0, 1).map(({ span }) => span),
    })),
  ]
}

function numbered({ protocol = 'TCP', port, endPort }: PolicyPort): PortSpan[] | undefined {
  if (typeof port === 'string') return undefined
  return [port === undefined ? { protocol } : { protocol, first: port, last: endPort ?? port }]
}

const named = ({ protocol = 'TCP', port }: PolicyPort, pod: PodFacts): PortSpan[] =>
  pod.ports
    .filter((own) => own.name === port && own.protocol === protocol)
    .map((own) => ({ protocol, first: own.port, last: own.port }))
