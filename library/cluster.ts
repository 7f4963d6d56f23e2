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
  /** Holds the URL of the API server, such as `https://127.0.0.1:43210`. */
  readonly url: string
  /** Holds the kubeconfig of an administrator as text: `new KubeConfig().loadFromString(cluster.kubeconfig)`. */
  readonly kubeconfig: string
  /** Names a file with the same kubeconfig, for KUBECONFIG. */
  readonly kubeconfigFile: string
  /** Holds the administrator's credentials in PEM, with the server's URL and CA. */
  readonly access: Required<Pick<ClusterAccess, 'server' | 'ca' | 'cert' | 'key'>>
  /**
   * Reads and writes as an administrator without the network: these requests are not in the journal, and faults do not
   * affect them.
   */
  readonly client: Client
  /** Answers one request without a network, through all hooks. Rejects requests that do not end, such as a watch. */
  readonly inject: Inject
  /** Reads and moves the cluster's time. */
  readonly clock: ClusterClock
  /** Lists the requests that came over the network. */
  readonly journal: ClusterJournal
  /** Adds faults to requests over the network. */
  readonly faults: ClusterFaults
  /** Reads the records of how pods ended. */
  readonly terminations: Terminations
  /** Resolves to a copy of all objects except nodes and their leases. */
  snapshot(): Promise<Snapshot>
  /**
   * Restores all objects by ordinary writes: a watch sees exactly what changes, and need not list again. Rejects with a
   * StatusError (400) if the argument is not a snapshot.
   */
  restore(snapshot: Snapshot): Promise<Restored>
  /** Restores the objects to their state after the start, and clears faults and journal. */
  reset(): Promise<Restored>
  /**
   * Keeps the events of a test that failed in the folder of `recordOnFailure`. Call it after each test with the
   * argument that tap, vitest or node:test pass to `afterEach`. Resolves to the file's path, if it wrote one.
   */
  afterTest(test: EndedTest): Promise<string | undefined>
  /** Keeps the events since the last test; for other test runners. Rejects without `recordOnFailure`. */
  keepRecord(name: string, message?: string): Promise<string>
  /** Kills the kubelet of a node (default: the first), which is started again soon; its containers run on. */
  killKubelet(nodeName?: string): void
  /**
   * Stops the pods, then nodes, controllers and the server. Open waits are rejected. A second call waits for the first.
   */
  close(): Promise<void>
}

/** Reads and moves the cluster's time. */
export interface ClusterClock {
  /** Returns the cluster's time in milliseconds since the Unix epoch. */
  now(): number
  /**
   * Moves time forward at once. All timers that become due fire, also in kubelets. Containers find the offset in the
   * file that KUBESTAGE_CLOCK_FILE names, and get a SIGCONT if they handle it.
   */
  advance(duration: Duration): Promise<void>
}

/** Makes requests over the network fail on purpose. If several rules match a request, the first that strikes counts. */
export interface ClusterFaults {
  /** Adds a fault, which applies from now on. Throws a StatusError that says what is wrong with the rule. */
  add(rule: FaultRule): ActiveFault
  /** Returns the active faults, the oldest first. */
  list(): Fault[]
  /** Removes all faults. */
  clear(): void
}
/** Controls one fault. `using` removes it. */
export interface ActiveFault extends Disposable {
  /** Identifies the fault, as `kubestage fault` does. */
  readonly id: number
  /** Returns how often the fault has affected a request so far. */
  hits(): number
  /** Removes the fault. `using` does the same. */
  remove(): void
}
