import { createHash } from 'node:crypto'
import { isEverywhere, mergeSpans, spanText } from './address-spans.ts'
import type { Isolation, Isolations, Opening, PortSpan } from './isolation.ts'

const TABLE = 'ip kubestage-policies'

/**
 * Writes rules that let pass to and from isolated pods what is open, in the place of those before. They see the
 * addresses of pods, since Services have been resolved before. What belongs to a connection passes, and so does what
 * comes from the node and goes to it: these are `nodeAddresses`.
 */
export function policyRules({ ingress, egress }: Isolations, nodeAddresses: readonly string[]): string {
  const before = [`add table ${TABLE}`, `delete table ${TABLE}`]
  if (ingress.length + egress.length === 0) return `${before.join('\n')}\n`
  const sets = new Map<string, string>()
  const chains = new Map<string, string>()
  const entering = ingress.map((isolation) => chainOf(isolation, 'saddr', sets, chains))
  const leaving = egress.map((isolation) => chainOf(isolation, 'daddr', sets, chains))
  const own = [...new Set([...ingress, ...egress].map(({ ip }) => ip))].map((ip) => `${ip} . ${ip}`)
  const node = `{ ${nodeAddresses.join(', ')} }`
  const passes = ['ct state established,related accept', 'ip saddr . ip daddr @own accept']
  const from = [...passes, `ip daddr ${node} accept`, 'ip saddr vmap @leaving']
  const blocks = [
    ...sets.values(),
    block('set own', ['type ipv4_addr . ipv4_addr', ...elements(own)]),
    ...chains.values(),
    block('map leaving', ['type ipv4_addr : verdict', ...elements(leaving)]),
    block('map entering', ['type ipv4_addr : verdict', ...elements(entering)]),
    block('chain from-pods', ['type filter hook forward priority filter + 10', ...from]),
    block('chain from-pods-to-node', ['type filter hook input priority filter + 10', ...from]),
    block('chain to-pods', [
      'type filter hook forward priority filter + 20',
      ...passes,
      `ip saddr ${node} accept`,
      'ip daddr vmap @entering',
    ]),
  ]
  return `${before.join('\n')}\n${block(`table ${TABLE}`, blocks)}\n`
}

const block = (head: string, lines: readonly string[]): string => `${head} {\n${lines.join('\n')}\n}`

const elements = (all: readonly string[]): string[] => (all.length > 0 ? [`elements = { ${all.join(', ')} }`] : [])

/** Returns the element of a map that leads a pod's address to a chain, which pods with the same openings share. */
function chainOf(
  { ip, openings }: Isolation,
  field: 'saddr' | 'daddr',
  sets: Map<string, string>,
  chains: Map<string, string>,
): string {
  const lines = new Set(openings.flatMap((opening) => ruleLines(opening, field, sets)))
  const body = [...lines].sort()
  const name = `pods-${digest(body.join('\n'))}`
  chains.set(name, block(`chain ${name}`, [...body, 'drop']))
  return `${ip} : goto ${name}`
}

function ruleLines({ addresses, ports }: Opening, field: string, sets: Map<string, string>): string[] {
  const where = isEverywhere(addresses) ? '' : `ip ${field} @${setOf(addresses, sets)} `
  if (!ports) return [`${where}accept`]
  return [...Map.groupBy(ports, ({ protocol }) => protocol.toLowerCase())].map(([protocol, spans]) =>
    spans.some(({ first }) => first === undefined)
      ? `${where}meta l4proto ${protocol} accept`
      : `${where}${protocol} dport { ${portTexts(spans).join(', ')} } accept`,
  )
}

function setOf(addresses: Opening['addresses'], sets: Map<string, string>): string {
  const texts = addresses.map(spanText)
  const name = `peers-${digest(texts.join())}`
  sets.set(name, block(`set ${name}`, ['type ipv4_addr', 'flags interval', ...elements(texts)]))
  return name
}

const portTexts = (spans: readonly PortSpan[]): string[] =>
  mergeSpans(spans.map(({ first = 0, last = first }) => [first, last] as const)).map(([first, last]) =>
    first === last ? String(first) : `${first}-${last}`,
  )

const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16)
