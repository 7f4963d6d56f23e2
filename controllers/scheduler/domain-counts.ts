import { ownValue } from '../../shared/api/json/own-value.ts'
import type { PresentNode } from './node-info.ts'

/** Counts by domain: nodes of one domain have the same value of a label. */
export type Counts = Map<string, number>

/** Returns the domain of a node for a topology key; undefined if the node lacks the label. */
export function domainOf({ node }: PresentNode, topologyKey: string): string | undefined {
  const value = ownValue(node.metadata.labels, topologyKey)
  return value === undefined ? undefined : `${topologyKey}=${value}`
}

export const domainsOf = ({ node }: PresentNode): string[] =>
  Object.entries(node.metadata.labels ?? {}).map(([key, value]) => `${key}=${value}`)

export function addTo(counts: Counts, domain: string | undefined, amount: number): void {
  if (domain !== undefined) counts.set(domain, (counts.get(domain) ?? 0) + amount)
}

/**
 * Sums over all nodes what `countOn` finds on each. Asked about a changed copy of a node, it answers as if the copy
 * were in the node's place, which preemption and nominations need.
 */
export class DomainCounts {
  readonly #countOn: (info: PresentNode) => Counts
  readonly #totals: Counts = new Map()
  readonly #byNode = new Map<string | undefined, { info: PresentNode; counts: Counts }>()

  constructor(nodes: readonly PresentNode[], countOn: (info: PresentNode) => Counts) {
    this.#countOn = countOn
    for (const info of nodes) {
      const counts = countOn(info)
      this.#byNode.set(info.node.metadata.name, { info, counts })
      for (const [domain, count] of counts) addTo(this.#totals, domain, count)
    }
  }

  with(info: PresentNode): Counts {
    const known = this.#byNode.get(info.node.metadata.name)
    if (known?.info === info) return this.#totals
    const now = this.#countOn(info)
    const counts = new Map(this.#totals)
    for (const [domain, count] of known?.counts ?? []) addTo(counts, domain, -count)
    for (const [domain, count] of now) addTo(counts, domain, count)
    return counts
  }
}
