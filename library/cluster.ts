import type { Fault, FaultRule } from '../apiserver/instruments/faults.ts'
import type { Restored } from '../apiserver/instruments/snapshot.ts'
import type { Snapshot } from '../apiserver/storage/snapshot.ts'
import type { Client } from '../shared/client/client.ts'
import type { ClusterAccess } from '../shared/client/rest-client.ts'
import type { Duration } from './duration.ts'
import type { Inject } from './inject.ts'
import type { ClusterJournal } from './journal.ts'
import type { EndedTest } from './test-outcome.ts'
import type { Users } from './users.ts'
import type { Terminations, Waiters } from './waiters.ts'

/** A cluster that runs; `await using` ends it. */
export interface Cluster extends Users, Waiters, AsyncDisposable {
  /** `https://127.0.0.1:43210` */
  readonly url: string
  /** An administrator's, as text: `new KubeConfig().loadFromString(cluster.kubeconfig)`. */
  readonly kubeconfig: string
  /** The same as a file, for KUBECONFIG. */
  readonly kubeconfigFile: string
  /** The same in parts, PEM. */
  readonly access: Required<Pick<ClusterAccess, 'server' | 'ca' | 'cert' | 'key'>>
  /** As an administrator, without the network: not in the journal, and no fault gets in its way. */
  readonly client: Client
  /**
   * Answers one request without a network, through all hooks. Rejects for requests that do not end, such as a watch.
   */
  readonly inject: Inject
  readonly clock: ClusterClock
  readonly journal: ClusterJournal
  readonly faults: ClusterFaults
  readonly terminations: Terminations
  /** All objects as they are now, but for nodes and their leases. */
  snapshot(): Promise<Snapshot>
  /**
   * Makes all objects what they were, by ordinary writes: a watch sees exactly what changes, and need not list again.
   */
  restore(snapshot: Snapshot): Promise<Restored>
  /** Back to the start: objects, faults and journal. */
  reset(): Promise<Restored>
  /**
   * Call it after each test with what tap, vitest or node:test give to `afterEach`: if the test failed, what happened
   * since the last one is kept in the folder of `recordOnFailure`. Resolves to the file's path; without that option,
   * and for a test that passed, to undefined.
   */
  afterTest(test: EndedTest): Promise<string | undefined>
  /** Keeps what happened since the last test, for other runners. Rejects without `recordOnFailure`. */
  keepRecord(name: string, message?: string): Promise<string>
  /** Kills the kubelet of a node (default: the first), which is started again soon; its containers run on. */
  killKubelet(nodeName?: string): void
  /** Pods end first, then nodes, controllers and the server. Waits that are still open are rejected. Idempotent. */
  close(): Promise<void>
}

export interface ClusterClock {
  /** Milliseconds since the Unix epoch, of the cluster. */
  now(): number
  /**
   * Lets that much time pass at once, and all that is due in it happen, in kubelets with processes of their own as
   * well. Containers can see how far time has been moved in the file that KUBESTAGE_CLOCK_FILE names, and get a SIGCONT
   * if they have a handler for it.
   */
  advance(duration: Duration): Promise<void>
}

export interface ClusterFaults {
  /** From now on. Throws a StatusError that says what is wrong with the rule. */
  add(rule: FaultRule): ActiveFault
  list(): Fault[]
  clear(): void
}
export interface ActiveFault extends Disposable {
  readonly id: number
  /** How often it has struck so far. */
  hits(): number
  remove(): void
}
