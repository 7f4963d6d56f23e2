import type { TrimmedNode } from '../informers/trimmed-node.ts'

/** Says how many of a zone's nodes are not ready. Upstream: pkg/controller/nodelifecycle, ComputeZoneState. */
export type ZoneState = 'Normal' | 'PartialDisruption' | 'FullDisruption'
/** Says how fast pods leave the nodes of a zone that are not ready. */
export interface ZoneEvictions {
  /**
   * All nodes of all zones are not ready, so the fault is elsewhere: stop evictions and remove the taints already set.
   */
  calledOff: boolean
  /** Limits how many nodes of the zone are tainted in a second. */
  nodesPerSecond: number
}

const RATE = 0.1
/** Rate of a large zone in PartialDisruption; in a small one evictions stop. */
const SECONDARY_RATE = 0.01
const LARGE_ZONE = 50
const UNHEALTHY_SHARE = 0.55
const UNHEALTHY_LEAST = 3

/** Nodes of one region and zone fail together. */
export const zoneOf = ({ metadata: { labels = {} } }: TrimmedNode): string =>
  [labels['topology.kubernetes.io/region'], labels['topology.kubernetes.io/zone']].join('/')

export const isReady = ({ status }: TrimmedNode): boolean =>
  status?.conditions?.some(({ type, status: state }) => type === 'Ready' && state === 'True') ?? false

function zoneState(nodes: readonly TrimmedNode[]): ZoneState {
  const notReady = nodes.filter((node) => !isReady(node)).length
  if (notReady === nodes.length) return 'FullDisruption'
  return notReady >= UNHEALTHY_LEAST && notReady / nodes.length >= UNHEALTHY_SHARE ? 'PartialDisruption' : 'Normal'
}

/** Returns the evictions that each zone allows, keyed by zone. */
export function zoneEvictions(nodes: Iterable<TrimmedNode>): Map<string, ZoneEvictions> {
  const zones = Map.groupBy(nodes, zoneOf)
  const states = new Map([...zones].map(([zone, members]) => [zone, zoneState(members)]))
  const calledOff = [...states.values()].every((state) => state === 'FullDisruption')
  return new Map(
    [...zones].map(([zone, { length }]) => {
      const isPartial = states.get(zone) === 'PartialDisruption'
      const nodesPerSecond = !isPartial ? RATE : length > LARGE_ZONE ? SECONDARY_RATE : 0
      return [zone, { calledOff, nodesPerSecond }]
    }),
  )
}
