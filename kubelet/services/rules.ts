import { createHash } from 'node:crypto'
import type { NodePlace } from '../runtime/network/node-network.ts'
import type { ServicePort, Target } from './service-ports.ts'

/** Chains and sets that rules have by name. */
export interface RuleNames {
  chains: Set<string>
  sets: Set<string>
}

export interface Rules extends RuleNames {
  /** Commands of nft, which it carries out together or not at all. */
  text: string
}

export interface RulesInput {
  ports: readonly ServicePort[]
  place: NodePlace
  /** Holds the addresses of this machine at which node ports are served. */
  machine: readonly string[]
  /** Holds the range of cluster IPs, where it is known: those of no Service are refused. */
  range?: string
  /** Holds the addresses of pods that have ended: what rules still lead there is refused at once. */
  gone?: readonly string[]
}

const TABLE = 'ip kubestage'
/** Marks what a pod sends to itself by its Service: the answer must come back the same way. Upstream: 0x4000. */
const TO_ITSELF = '0x4000'

/**
 * Writes rules that lead traffic for Services to their endpoints, in the place of those before. Sets that remember the
 * endpoints of clients are kept where they are needed again; without `before` all begins again. They fit a network that
 * has no rules yet, too. Upstream: the nftables mode of kube-proxy.
 */
export function rulesOf({ ports, place, machine, range, gone = [] }: RulesInput, before?: RuleNames): Rules {
  const served = ports.filter(({ endpoints }) => endpoints.length > 0).map(chainsOf)
  const chains = new Set(served.flatMap(({ name, ends }) => [name, ...ends.map((end) => end.name)]))
  const timeouts = new Map(served.flatMap(({ ends, port }) => ends.map((end) => [end.name, port.affinitySeconds])))
  const sets = new Set([...timeouts].filter(([, seconds]) => seconds !== undefined).map(([name]) => name))
  const stale = (old: Set<string> | undefined, now: Set<string>) => [...(old ?? [])].filter((name) => !now.has(name))
  const goto = (wanted: (port: ServicePort) => boolean, key: (port: ServicePort) => string): string[] =>
    served.filter(({ port }) => wanted(port)).map(({ name, port }) => `${key(port)} : goto ${name}`)
  const inside = goto(({ ip }) => ip !== undefined, keyOf)
  const outside = goto(({ ip }) => ip === undefined, keyOf)
  const ips = [...new Set(ports.flatMap(({ ip }) => ip ?? []))]
  const lines = [
    `add table ${TABLE}`,
    ...(before ? [] : [`delete table ${TABLE}`, `add table ${TABLE}`]),
    `flush table ${TABLE}`,
    `add map ${TABLE} ports { type ipv4_addr . inet_proto . inet_service : verdict; }`,
    `add map ${TABLE} nodePorts { type inet_proto . inet_service : verdict; }`,
    `add set ${TABLE} ips { type ipv4_addr; }`,
    `add set ${TABLE} nodes { type ipv4_addr; }`,
    `add set ${TABLE} gone { type ipv4_addr; }`,
    ...lostKinds.map((kind) => `add set ${TABLE} ${setOfLosses(kind)} { type ipv4_addr; flags dynamic; counter; }`),
    ...['map ports', 'map nodePorts', 'set ips', 'set nodes', 'set gone'].map(
      (name) => `flush ${name.replace(' ', ` ${TABLE} `)}`,
    ),
    // What is to be deleted is added before: in a network of its own it may not be there.
    ...stale(before?.chains, chains).flatMap((name) => [`add chain ${TABLE} ${name}`, `delete chain ${TABLE} ${name}`]),
    ...stale(before?.sets, sets).flatMap((name) => [addSet(name), `delete set ${TABLE} ${setName(name)}`]),
    `add chain ${TABLE} services { type nat hook prerouting priority dstnat; }`,
    `add chain ${TABLE} own { type nat hook output priority -100; }`,
    `add chain ${TABLE} leaving { type nat hook postrouting priority srcnat; }`,
    `add chain ${TABLE} refused { type filter hook forward priority filter; }`,
    `add chain ${TABLE} lost { type filter hook forward priority filter + 10; }`,
    `add chain ${TABLE} refusals { type filter hook output priority filter; }`,
    ...[...sets].map(addSet),
    ...[...chains].map((name) => `add chain ${TABLE} ${name}`),
    `add rule ${TABLE} services ip daddr . meta l4proto . th dport vmap @ports`,
    `add rule ${TABLE} services ip daddr @nodes meta l4proto . th dport vmap @nodePorts`,
    `add rule ${TABLE} own ip daddr @nodes meta l4proto . th dport vmap @nodePorts`,
    `add rule ${TABLE} leaving meta mark ${TO_ITSELF} masquerade`,
    ...answersComeBack(place),
    `add rule ${TABLE} refused ip daddr @ips reject`,
    ...(range ? [`add rule ${TABLE} refused ip daddr ${range} reject with icmp type net-unreachable`] : []),
    `add rule ${TABLE} refused ct status dnat ip daddr @gone ct state established meta l4proto tcp reject with tcp reset`,
    `add rule ${TABLE} refused ct status dnat ip daddr @gone reject with icmp type host-unreachable`,
    ...losses,
    ...served.flatMap(rulesOfPort),
    ...filled('ports', inside),
    ...filled('nodePorts', outside),
    ...filled('ips', ips),
    ...filled('gone', gone),
    ...filled('nodes', nodeAddresses({ place, machine })),
  ]
  return { text: lines.map((line) => `${line}\n`).join(''), chains, sets }
}

export const nodeAddresses = ({ place, machine }: Pick<RulesInput, 'place' | 'machine'>): string[] => [
  ...new Set([place.node, place.machine, ...machine]),
]

const filled = (name: string, elements: readonly string[]): string[] =>
  elements.length > 0 ? [`add element ${TABLE} ${name} { ${elements.join(', ')} }`] : []

/**
 * Returns rules for what comes from outside of this node and goes on to outside, such as to a pod of another node. It
 * has to come back by the node: the machine takes no datagrams with its own address.
 */
const answersComeBack = ({ range, machine }: NodePlace): string[] => [
  `add rule ${TABLE} leaving ip saddr ${range} ip saddr != ${machine} return`,
  `add rule ${TABLE} leaving ip daddr ${range} ip daddr != ${machine} return`,
  `add rule ${TABLE} leaving ct status dnat masquerade`,
]

/** Names the kinds of losses that rules see. */
export const lostKinds = ['refused', 'reset', 'unreachable'] as const

/** Returns the name of the set that counts the losses of one kind by the address of the pod. */
export const setOfLosses = (kind: (typeof lostKinds)[number]): string => `lost-${kind}`

const COUNTED = '0x8000'

/**
 * Counts each connection that rules led to an endpoint, and that ended there by a reset or an error, once. One that an
 * end has closed in order is not lost, whatever comes after. A port where no process listens answers with the sequence
 * number 0.
 */
const losses: readonly string[] = [
  ['lost', 'tcp flags & fin == fin'] as const,
  ['lost', 'ct direction reply tcp flags & rst == rst tcp sequence 0', 'refused'] as const,
  ['lost', 'ct direction reply tcp flags & rst == rst', 'reset'] as const,
  ['lost', 'icmp type destination-unreachable', 'refused'] as const,
  ['refusals', 'tcp flags & rst == rst', 'reset'] as const,
  ['refusals', 'icmp type destination-unreachable icmp code host-unreachable', 'unreachable'] as const,
].map(([chain, match, kind]) => {
  const count = kind ? ` update @${setOfLosses(kind)} { ct reply ip saddr }` : ''
  return `add rule ${TABLE} ${chain} ct status dnat ct mark != ${COUNTED} ${match} ct mark set ${COUNTED}${count}`
})

interface Chains {
  name: string
  port: ServicePort
  ends: (Target & { name: string })[]
}

function chainsOf(port: ServicePort): Chains {
  const key = keyOf(port)
  const ends = port.endpoints.map((end) => ({ ...end, name: `end-${digest(`${key} ${end.ip} ${end.port}`)}` }))
  return { name: `port-${digest(key)}`, port, ends }
}

const keyOf = ({ ip, protocol, port }: ServicePort): string =>
  [...(ip === undefined ? [] : [ip]), protocol, port].join(' . ')

const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16)

const setName = (end: string): string => `clients-${end}`

const addSet = (end: string): string =>
  `add set ${TABLE} ${setName(end)} { type ipv4_addr; flags dynamic,timeout; timeout 1d; }`

function rulesOfPort({ name, port, ends }: Chains): string[] {
  const { affinitySeconds, protocol } = port
  const remembers = affinitySeconds !== undefined
  const known = ends.map((end) => `add rule ${TABLE} ${name} ip saddr @${setName(end.name)} goto ${end.name}`)
  const choices = ends.map((end, index) => `${index} : goto ${end.name}`).join(', ')
  return [
    ...(remembers ? known : []),
    `add rule ${TABLE} ${name} numgen random mod ${ends.length} vmap { ${choices} }`,
    ...ends.flatMap((end) => [
      `add rule ${TABLE} ${end.name} ip saddr ${end.ip} meta mark set ${TO_ITSELF}`,
      ...(remembers
        ? [`add rule ${TABLE} ${end.name} update @${setName(end.name)} { ip saddr timeout ${affinitySeconds}s }`]
        : []),
      `add rule ${TABLE} ${end.name} meta l4proto ${protocol} dnat to ${end.ip}:${end.port}`,
    ]),
  ]
}
