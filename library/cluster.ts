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

/** Gives access to a running cluster. `await using` closes the cluster. */
export interface Cluster extends Users, Waiters, AsyncDisposable {
  /** URL of the API server, such as `https://127.0.0.1:43210`. */
  readonly url: string
  /** Kubeconfig of an administrator, as text: `new KubeConfig().loadFromString(cluster.kubeconfig)`. */
  readonly kubeconfig: string
  /** Path of a file with the same kubeconfig, for KUBECONFIG. */
  readonly kubeconfigFile: string
  /** The administrator's credentials in PEM, with the server's URL and CA. */
  readonly access: Required<Pick<ClusterAccess, 'server' | 'ca' | 'cert' | 'key'>>
  /**
   * Client of an administrator that uses no network: its requests are not in the journal, and faults do not affect it.
   */
  readonly client: Client
  /** Answers one request without a network, through all hooks. Rejects requests that do not end, such as a watch. */
  readonly inject: Inject
  readonly clock: ClusterClock
  readonly journal: ClusterJournal
  readonly faults: ClusterFaults
  readonly terminations: Terminations
  /** Resolves to a copy of all objects except nodes and their leases. */
  snapshot(): Promise<Snapshot>
  /** Restores all objects by ordinary writes: a watch sees exactly what changes, and need not list again. */
  restore(snapshot: Snapshot): Promise<Restored>
  /** Restores the objects to their state after the start, and clears faults and journal. */
  reset(): Promise<Restored>
  /**
   * Call this after each test with the argument that tap, vitest or node:test pass to `afterEach`. If the test failed,
   * the events since the last test are kept in the folder of `recordOnFailure`. Resolves to the file's path; to
   * undefined without that option, or if the test passed.
   */
  afterTest(test: EndedTest): Promise<string | undefined>
  /** Keeps the events since the last test; for other test runners. Rejects without `recordOnFailure`. */
  keepRecord(name: string, message?: string): Promise<string>
  /** Kills the kubelet of a node (default: the first), which is started again soon; its containers run on. */
  killKubelet(nodeName?: string): void
  /** Stops the pods, then nodes, controllers and the server. Open waits are rejected. Idempotent. */
  close(): Promise<void>
}

export interface ClusterClock {
  /** Returns the cluster's time in milliseconds since the Unix epoch. */
  now(): number
  /**
   * Moves time forward at once. All timers that become due fire, also in kubelets with processes of their own.
   * Containers find the total offset in the file that KUBESTAGE_CLOCK_FILE names, and get a SIGCONT if they have a
   * handler for it.
   */
  advance(duration: Duration): Promise<void>
}

export interface ClusterFaults {
  /** Adds a fault, which applies from now on. Throws a StatusError that says what is wrong with the rule. */
  add(rule: FaultRule): ActiveFault
  list(): Fault[]
  clear(): void
}
export interface ActiveFault extends Disposable {
  readonly id: number
  /** Returns how often the fault has affected a request so far. */
  hits(): number
  remove(): void
}
