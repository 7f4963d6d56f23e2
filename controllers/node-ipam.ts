import { AddressRange } from '../shared/api/services/address-range.ts'
import type { Node } from '../shared/api/types.ts'
import { nodes as nodesResource } from '../shared/client/resources.ts'
import { WorkQueue } from '../shared/concurrency/work-queue.ts'
import type { Controller, ControllerContext } from './controller.ts'
import type { TrimmedNode } from './informers/trimmed-node.ts'

/** The default of upstream's `--node-cidr-mask-size`. */
const NODE_BITS = 24

/**
 * Gives each node a range of the cluster's for its pods, and none that another node has. Upstream: RangeAllocator of
 * pkg/controller/nodeipam.
 */
export function startNodeIpam({ client, informers, clock, log }: ControllerContext, clusterCidr: string): Controller {
  const nodes = informers.nodes()
  // One node after the other.
  const queue = new WorkQueue<string>({
    clock,
    async work(name): Promise<void> {
      if (nodes.get({ name })?.spec?.podCIDR) return
      const { items } = await client.list<Node>(nodesResource)
      const node = items.find(({ metadata }) => metadata.name === name)
      if (!node || node.spec?.podCIDR) return
      const podCIDR = freeRange(clusterCidr, items.flatMap(rangesOf))
      if (!podCIDR) return log.warn({ node: name }, `no range for pods is left in ${clusterCidr}`)
      await client.patch(nodesResource, { name }, { spec: { podCIDR, podCIDRs: [podCIDR] } })
    },
    onError: (error, node) => log.debug({ err: error, node }, 'a node could not be given a range for its pods'),
  })
  const consider = ({ metadata }: TrimmedNode): void => queue.add(metadata.name ?? '')
  nodes.addHandler({ onAdd: consider, onUpdate: consider })
  return { close: () => queue.close() }
}

const rangesOf = ({ spec }: Node): string[] => [spec?.podCIDR ?? [], spec?.podCIDRs ?? []].flat()

/** Returns the first range of a node's size that overlaps none of the others; undefined if none is left. */
export function freeRange(clusterCidr: string, others: readonly string[]): string | undefined {
  const cluster = new AddressRange(clusterCidr)
  const taken = others.filter((cidr) => !cidr.includes(':')).map((cidr) => new AddressRange(cidr))
  const bits = Math.max(NODE_BITS, cluster.bits)
  const all = 2 ** (bits - cluster.bits)
  for (let index = 0; index < all; index++) {
    const range = new AddressRange(`${cluster.at(index * 2 ** (32 - bits))}/${bits}`)
    if (!taken.some((other) => other.overlaps(range))) return range.cidr
  }
  return undefined
}
