import type { Clock } from '../../shared/clock/clock.ts'
import type { Logger } from '../../shared/log/log.ts'
import type { Access } from '../auth/access.ts'
import type { ServiceAccountTokens } from '../auth/service-account/service-account-tokens.ts'
import type { ClusterTime } from '../instruments/cluster-time.ts'
import type { Faults } from '../instruments/faults.ts'
import type { Journal } from '../instruments/journal.ts'
import type { Snapshots } from '../instruments/snapshot.ts'
import type { Catalog } from '../registry/catalog.ts'
import type { Registry } from '../registry/registry.ts'
import type { WayToPod } from '../registry/way-to-pod.ts'
import type { Compaction } from '../storage/compaction.ts'
import type { SharedInstruments } from './instruments/shared-instruments.ts'
import type { KubeletProxy } from './proxy/kubelet-proxy.ts'
import type { UsageMeter } from './usage/usage-meter.ts'

/** The instruments observe requests or interfere with them on purpose. */
export interface Instruments {
  journal: Journal
  faults: Faults
  snapshots: Snapshots
  /** Moves the cluster's time; undefined if the clock cannot be moved. */
  time: (ClusterTime & { close(): void }) | undefined
  /** Makes them those of all servers that share a store; undefined where there is one server, or etcd. */
  shared?: SharedInstruments
}

/** The context holds what every handler needs from the server. */
export interface ApiContext {
  catalog: Catalog
  registry: Registry
  /** Limits how far lists may look back. */
  compaction: Compaction
  clock: Clock
  log: Logger
  kubelet: KubeletProxy
  wayToPod: WayToPod
  /** Measures what nodes and pods use. */
  usage: UsageMeter
  instruments: Instruments
  access: Access
  tokens: ServiceAccountTokens
  /** Returns how many other servers have the same objects. */
  otherServers(): number
}
