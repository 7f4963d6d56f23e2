import type { Node } from '../../../shared/api/types.ts'
import type { MovableClock } from '../../../shared/clock/movable-clock.ts'
import type { Logger } from '../../../shared/log/log.ts'
import { ClusterTime, type Move, type TimedNode } from '../../instruments/cluster-time.ts'
import { keyPrefix } from '../../registry/keys.ts'
import type { Registry } from '../../registry/registry.ts'
import type { StorageWatch } from '../../storage/storage.ts'
import type { KubeletProxy } from '../proxy/kubelet-proxy.ts'
import type { SharedInstruments } from './shared-instruments.ts'
import { moveKubeletClock } from './tell-kubelet.ts'

export interface ClusterTimeParts {
  registry: Registry
  kubelet: KubeletProxy
  clock: MovableClock
  log: Logger
  /** Other servers of the same store, whose clocks move as well. */
  shared?(): Pick<SharedInstruments, 'clocks' | 'moveClock'> | undefined
}

const nodeResource = { group: '', plural: 'nodes' }

/** The time of the nodes that there are. Those that come later are told when they say where they are. */
export function timeOfCluster({
  registry,
  kubelet,
  clock,
  log,
  shared = () => undefined,
}: ClusterTimeParts): ClusterTime & { close(): void } {
  const nodes = new Map<string, Node>()
  const look = (): TimedNode[] => {
    nodes.clear()
    for (const node of registry.lookupAll(nodeResource) as Iterable<Node>) {
      if (node.status?.daemonEndpoints?.kubeletEndpoint?.Port) nodes.set(node.metadata.name ?? '', node)
    }
    const kubelets = [...nodes].map(([name, node]) => ({ name, address: addressOf(node) }))
    return [...kubelets, ...(shared()?.clocks() ?? [])]
  }
  const told = new Set<string>()
  let watch: StorageWatch | undefined
  const tell = async ({ name, address }: TimedNode, move: Move): Promise<number | undefined> => {
    told.add(address)
    watch ??= registry.storage.watch({
      prefix: keyPrefix(nodeResource),
      onEvents() {
        for (const node of look().filter((node) => !told.has(node.address))) void time.join(node)
      },
    })
    const node = nodes.get(name)
    return node ? moveKubeletClock(kubelet, node, move) : shared()?.moveClock(name, move)
  }
  const time = new ClusterTime({
    clock,
    revision: () => registry.storage.revision(),
    nodes: look,
    tell,
    onError: (error, { name, address }) => {
      told.delete(address)
      log.warn({ err: error, node: name }, 'the clock of a kubelet or an API server could not be moved')
    },
  })
  return Object.assign(time, { close: () => watch?.close() })
}

const addressOf = ({ metadata, status }: Node): string =>
  `${metadata.uid} ${status?.daemonEndpoints?.kubeletEndpoint?.Port}`
