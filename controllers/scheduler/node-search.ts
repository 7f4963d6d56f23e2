import type { PresentNode } from './node-info.ts'
import type { Rejection } from './rejection.ts'

/** Upstream's figures: below so many nodes all are looked at. */
const MIN_FITTING = 100
const MIN_PERCENTAGE = 5

/**
 * Returns how many fitting nodes are enough to choose from. Of many nodes, half suffice at first, and a smaller share
 * the more there are. Upstream: numFeasibleNodesToFind in pkg/scheduler/schedule_one.go, without
 * `percentageOfNodesToScore`.
 */
export function enoughOf(nodes: number): number {
  const percentage = Math.max(MIN_PERCENTAGE, 50 - Math.trunc(nodes / 125))
  return Math.min(nodes, Math.max(MIN_FITTING, Math.trunc((nodes * percentage) / 100)))
}

/** Looks for nodes that fit; each search begins where the last one ended, so that every node has its turn. */
export class NodeSearch {
  #next = 0

  /** Ends when there are enough. `rejected`: those before that do not fit. */
  find(
    nodes: readonly PresentNode[],
    check: (node: PresentNode) => Rejection | undefined,
  ): { fitting: PresentNode[]; rejected: Map<PresentNode, Rejection> } {
    const fitting: PresentNode[] = []
    const rejected = new Map<PresentNode, Rejection>()
    const enough = enoughOf(nodes.length)
    let looked = 0
    while (looked < nodes.length && fitting.length < enough) {
      const node = nodes[(this.#next + looked) % nodes.length]!
      const rejection = check(node)
      if (rejection) rejected.set(node, rejection)
      else fitting.push(node)
      looked += 1
    }
    this.#next = (this.#next + looked) % nodes.length
    return { fitting, rejected }
  }
}
