import { readFileSync } from 'node:fs'
import type { Clock, Timer } from '../../shared/clock/clock.ts'
import type { NetworkedPod, NodeNetwork, Served } from '../runtime/network/node-network.ts'

export interface ConnectionLimitOptions {
  network: Pick<NodeNetwork, 'useRules' | 'listSets' | 'pods'>
  clock: Clock
  /** Reports a pod of which connections were dropped, again and again while they are. */
  onReached(pod: NetworkedPod, message: string): void
  warn(error: unknown, what: string): void
  /** Says how many connections the kernel tracks for a node. By default it is asked. */
  table?: number
}

/** The kernel tracks a datagram without an answer for so long. */
const KEPT_SECONDS = 30
/** A stock kernel tracks so many connections of a node. */
const STOCK_TABLE = 262_144
const LOOK_MS = 20_000
const SET = 'over'

/**
 * Returns the connections that one pod may open in a second, and at once: half of the table, when they are never
 * closed. Counting those that are open would cost the kernel a look at each of them.
 */
export const connectionRate = (table: number): { perSecond: number; burst: number } => ({
  perSecond: Math.max(1, Math.floor(table / 2 / KEPT_SECONDS)),
  burst: Math.max(1, Math.floor(table / 16)),
})

/** Returns rules for nft that apply before a connection is kept, when a pod's address has replaced a cluster IP. */
const rulesOf = (limit: string): string => `add table ip kubestage-limit
delete table ip kubestage-limit
table ip kubestage-limit {
set rates { type ipv4_addr; size 65535; flags dynamic,timeout; timeout 10s; }
set ${SET} { type ipv4_addr; size 65535; flags dynamic,timeout; timeout 1m; }
chain floods {
type filter hook prerouting priority filter
iifname pods ct state new update @rates { ip saddr ${limit} } add @${SET} { ip saddr } drop
}
}
`

function tableSize(): number {
  try {
    return Number(readFileSync('/proc/sys/net/netfilter/nf_conntrack_max', 'utf8')) || STOCK_TABLE
  } catch {
    return STOCK_TABLE
  }
}

/** Keeps a pod that floods the tracking of connections from taking it away from all others of the node. */
export function limitConnections(options: ConnectionLimitOptions): Served {
  const { network, clock, onReached, warn, table = tableSize() } = options
  const rate = connectionRate(table)
  const limit = `limit rate over ${rate.perSecond}/second burst ${rate.burst} packets`
  const message = `it opens more than ${rate.perSecond} connections a second; the node drops others of this pod`
  let timer: Timer | undefined
  let isClosed = false
  const lookLater = (): void => {
    if (!isClosed) timer = clock.machine.setTimer(LOOK_MS, () => void look(), { background: true })
  }
  const look = async (): Promise<void> => {
    const reached = await network.listSets().then(addressesOver, () => [])
    for (const ip of isClosed ? [] : reached) {
      const pod = network.pods.get(ip)
      if (pod) onReached(pod, message)
    }
    lookLater()
  }
  network
    .useRules('limit', rulesOf(limit))
    .then(lookLater, (error) => warn(error, 'connections of a pod are not limited'))
  return {
    close() {
      isClosed = true
      timer?.cancel()
    },
  }
}

interface Listed {
  nftables: { set?: { name: string; elem?: ({ elem?: { val?: string } } | string)[] } }[]
}

/** Reads what `nft -j list sets` prints. */
function addressesOver(json: string): string[] {
  const { nftables } = JSON.parse(json) as Listed
  const elements = nftables.find(({ set }) => set?.name === SET)?.set?.elem ?? []
  return elements.flatMap((element) => (typeof element === 'string' ? element : (element.elem?.val ?? [])))
}
