import type { ClusterPlugin } from '../apiserver/http/plugins/plugin.ts'
import type { FeatureGates } from '../shared/config/feature-gates.ts'
import type { Duration } from './duration.ts'

/**
 * Holds the options of `startCluster`. Without any, a control plane starts with one node, which runs pods as processes
 * of this machine.
 */
export interface StartClusterOptions {
  /** An API server and nothing else: nothing is scheduled, collected or run, and pods need no service account. */
  apiOnly?: boolean
  /**
   * Nodes that run pods as processes of this machine, each a kubelet in a process of its own. Default 1; 0 if there are
   * simulated ones.
   */
  nodes?: number
  /** Nodes within this process, whose pods only seem to run: hundreds of pods, and any speed of time. Default 0. */
  simulatedNodes?: number
  /**
   * Simulated pods report each step as real ones do: single status changes, events, Terminations. Otherwise they report
   * only their state and errors, so that thousands come and go in a second or two. Default: only with virtual time.
   */
  simulatedSteps?: boolean
  /** Starts the scheduler. Default true; without it pods stay Pending until you bind them. */
  scheduler?: boolean
  /** Which control loops run: `['*', '-deployment']` leaves one out. Default: all. */
  controllers?: string[]
  /**
   * `virtual`: time stands still between two calls of `clock.advance`; needs simulated nodes, or none. A number: how
   * many seconds of the cluster pass in one second of the machine. Default `real`.
   */
  time?: 'real' | 'virtual' | number
  /** Address that the API server listens at. Default 127.0.0.1. */
  host?: string
  /** Port of the API server. Default 0: a free port. */
  port?: number
  /** What serves HTTP/2: `own`, which is the default and faster, or `node` (node:http2). */
  http2?: 'own' | 'node'
  /** Range of cluster IPs. Default 10.96.0.0/16. */
  serviceCidr?: string
  featureGates?: Partial<FeatureGates>
  /**
   * Programs that images stand for: `{'nginx:*': ['/usr/sbin/nginx', '-g', 'daemon off;']}`; a text is taken apart as
   * by a shell.
   */
  images?: Record<string, string | string[]>
  /** Folders that come first on an image's PATH: `{'busybox:*': '/opt/busybox/bin'}`. */
  imagePaths?: Record<string, string>
  /** Where objects are kept; default `memory`. */
  storage?: 'memory' | `sqlite:${string}` | `etcd:${string}`
  /** PEM file of the CA that etcd's certificates come from. */
  etcdCafile?: string
  /** PEM file of the client certificate for etcd; together with `etcdKeyfile`. */
  etcdCertfile?: string
  /** PEM file of the client certificate's key. */
  etcdKeyfile?: string
  /** Where the cluster's keys are in etcd; each cluster needs its own. Default /registry. */
  etcdPrefix?: string
  /** Whether scheduler and control loops run only while this cluster holds their Leases. Default: with etcd. */
  leaderElect?: boolean
  /** How long others wait for a leader that does not renew its Lease; whole seconds. Default 15 s. */
  leaderElectLeaseDuration?: Duration
  /** How long a leader tries to renew its Lease before it stops its loops. Default 10 s. */
  leaderElectRenewDeadline?: Duration
  /** Time between two tries to get or renew a Lease. Default 2 s. */
  leaderElectRetryPeriod?: Duration
  /** Name of the control loops' Lease; the scheduler's is kube-scheduler. Default kube-controller-manager. */
  leaderElectResourceName?: string
  /** Namespace of both Leases. Default kube-system. */
  leaderElectResourceNamespace?: string
  /** Routes, hooks and decorators to add to the API server, as plugins of Fastify. They are loaded in order. */
  plugins?: ClusterPlugin[]
  /** How many requests the journal keeps; default 1,000. */
  journal?: number
  /**
   * A folder for records of tests that fail: call `cluster.afterTest` after each test. Default: nothing is recorded.
   */
  recordOnFailure?: string
  /** How long pods may take to end when the cluster is closed; default 2 s. */
  shutdownGracePeriod?: Duration
  /** Folder of logs, certificates and the kubelets' files. Default: a new folder, which is removed with the cluster. */
  stateDir?: string
  /** Called with one line for each unexpected event. Default: none. */
  onTrouble?(line: string): void
}
