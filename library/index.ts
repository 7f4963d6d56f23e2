/** Kubestage as a library: `await using cluster = await startCluster()`. Importing it does nothing. */
import type { Cluster } from './cluster.ts'
import type { StartClusterOptions } from './options.ts'
import { checkNode } from './supported-node.ts'

export type { ClusterPlugin, KubernetesRequest, KubernetesServer } from '../apiserver/http/plugins/plugin.ts'
export type { Fault, FaultEffect, FaultRule } from '../apiserver/instruments/faults.ts'
export type { JournalEntry } from '../apiserver/instruments/journal.ts'
export type { RequestFilter } from '../apiserver/instruments/request-filter.ts'
export type { Restored } from '../apiserver/instruments/snapshot.ts'
export type { Snapshot } from '../apiserver/storage/snapshot.ts'
export { isStatus, StatusError } from '../shared/api/status/status-error.ts'
export type { Termination } from '../shared/api/termination.ts'
export type { DeleteOptions, KubeList, KubeObject, Node, Pod, WatchEvent } from '../shared/api/types.ts'
export type {
  Client,
  ListQuery,
  ObjectRef,
  PatchSettings,
  PatchType,
  Resource,
  WatchQuery,
} from '../shared/client/client.ts'
export * as resources from '../shared/client/resources.ts'
export type { InjectedAnswer } from '../shared/http/injected-request.ts'
export type { ActiveFault, Cluster, ClusterClock, ClusterFaults } from './cluster.ts'
export type { Duration } from './duration.ts'
export type { Inject, InjectOptions } from './inject.ts'
export type { ClusterJournal, Count, JournalFilter } from './journal.ts'
export type { ClusterLimits } from './limits.ts'
export type { StartClusterOptions } from './options.ts'
export type { EndedTest } from './test-outcome.ts'
export type { ClusterUser, Users } from './users.ts'
export type { Target, Terminations, Waiters, WaitOptions } from './waiters.ts'

/**
 * Starts a cluster within this process; kubelets that run pods have processes of their own. Resolves when the nodes are
 * ready. Rejects with nothing left running. The first call loads the program. A Node that is too old is refused here
 * and not at import: `node --test` says only "test failed" of a file that cannot be imported.
 */
export async function startCluster(options?: StartClusterOptions): Promise<Cluster> {
  checkNode()
  const { startCluster: start } = await import('./start-cluster.ts')
  return start(options)
}
