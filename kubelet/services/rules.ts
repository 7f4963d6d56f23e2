import { createHash } from 'node:crypto'
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

const TABLE = 'ip kubestage'
/** Marks what a pod sends to itself by its Service: the answer must come back the same way. Upstream: 0x4000. */
const TO_ITSELF = '0x4000'

/**
 * Writes rules that lead traffic for Services to their endpoints, in the place of those before. Sets that remember the
 * endpoints of clients are kept where they are needed again; without `before` all begins again. They fit a network that
 * has no rules yet, too. Upstream: the nftables mode of kube-proxy.
 */
export function rulesOf(ports: readonly ServicePort[], before?: RuleNames): Rules {
  const served = ports.filter(({ endpoints }) => endpoints.length > 0).map(chainsOf)
  const chains = new Set(served.flatMap(({ name, ends }) => [name, ...ends.map((end) => end.name)]))
  const timeouts = new Map(served.flatMap(({ ends, port }) => ends.map((end) => [end.name, port.affinitySeconds])))
  const sets = new Set([...timeouts].filter(([, seconds]) => seconds !== undefined).map(([name]) => name))
  const stale = (old: Set<string> | undefined, now: Set<string>) => [...(old ?? [])].filter((name) => !now.has(name))
  const elements = served.map(({ name, port }) => `${port.ip} . ${port.protocol} . ${port.port} : goto ${name}`)
  const ips = [...new Set(ports.map(({ ip }) => ip))]
  const lines = [
    `add table ${TABLE}`,
    ...(before ? [] : [`delete table ${TABLE}`, `add table ${TABLE}`]),
    `flush table ${TABLE}`,
    `add map ${TABLE} ports { type ipv4_addr . inet_proto . inet_service : verdict; }`,
    `add set ${TABLE} ips { type ipv4_addr; }`,
    `flush map ${TABLE} ports`,
    `flush set ${TABLE} ips`,
    // What is to be deleted is added before: in a network of its own it may not be there.
    ...stale(before?.chains, chains).flatMap((name) => [`add chain ${TABLE} ${name}`, `delete chain ${TABLE} ${name}`]),
    ...stale(before?.sets, sets).flatMap((name) => [addSet(name), `delete set ${TABLE} ${setName(name)}`]),
    `add chain ${TABLE} services { type nat hook prerouting priority dstnat; }`,
    `add chain ${TABLE} leaving { type nat hook postrouting priority srcnat; }`,
    `add chain ${TABLE} refused { type filter hook forward priority filter; }`,
    ...[...sets].map(addSet),
    ...[...chains].map((name) => `add chain ${TABLE} ${name}`),
    `add rule ${TABLE} services ip daddr . meta l4proto . th dport vmap @ports`,
    `add rule ${TABLE} leaving meta mark ${TO_ITSELF} masquerade`,
    `add rule ${TABLE} refused ip daddr @ips reject`,
    ...served.flatMap(rulesOfPort),
    ...(elements.length > 0 ? [`add element ${TABLE} ports { ${elements.join(', ')} }`] : []),
    ...(ips.length > 0 ? [`add element ${TABLE} ips { ${ips.join(', ')} }`] : []),
  ]
  return { text: lines.map((line) => `${line}\n`).join(''), chains, sets }
}

interface Chains {
  name: string
  port: ServicePort
  ends: (Target & { name: string })[]
}

function chainsOf(port: ServicePort): Chains {
  const key = `${port.ip} ${port.protocol} ${port.port}`
  const ends = port.endpoints.map((end) => ({ ...end, name: `end-${digest(`${key} ${end.ip} ${end.port}`)}` }))
  return { name: `port-${digest(key)}`, port, ends }
}

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
