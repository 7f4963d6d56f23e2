import type { ClusterPlugin } from '../apiserver/http/plugins/plugin.ts'
import type { FeatureGates } from '../shared/config/feature-gates.ts'
import type { Duration } from './duration.ts'
import type { ClusterLimits } from './limits.ts'

/**
 * Holds the options of `startCluster`. Without any, a control plane starts with one node, which runs pods as processes
 * of this machine.
 */
export interface StartClusterOptions {
  /**
   * Starts an API server and nothing else: nothing is scheduled, collected or run, and pods need no service account.
   *
   * @default false
   */
  apiOnly?: boolean
  /**
   * Sets the number of nodes that run pods as processes of this machine. Each node has a kubelet in a process of its
   * own.
   *
   * @default 1; 0 with simulated nodes or virtual time
   */
  nodes?: number
  /**
   * Sets the number of nodes within this process. Their pods only seem to run: thousands of pods, at any speed of time.
   *
   * @default 0
   */
  simulatedNodes?: number
  /**
   * Lets simulated pods report each step as real pods do: single status changes, events, Terminations. Without it they
   * report only their state and errors, so that thousands come and go in a second or two.
   *
   * @default true with virtual time, otherwise false
   */
  simulatedSteps?: boolean
  /**
   * Starts the scheduler. Without it pods stay Pending until you bind them.
   *
   * @default true
   */
  scheduler?: boolean
  /**
   * Names the control loops that run: `['*', '-deployment']` leaves one out.
   *
   * @default ['*']
   */
  controllers?: string[]
  /**
   * With `virtual`, time stands still between two calls of `clock.advance`; this needs simulated nodes, or none. A
   * number says how many seconds of the cluster pass in one second of the machine: 1 to 1000.
   *
   * @default 'real'
   */
  time?: 'real' | 'virtual' | number
  /**
   * Sets the address that the API server listens at.
   *
   * @default '127.0.0.1'
   */
  host?: string
  /**
   * Sets the port of the API server. With 0 the server takes a free port.
   *
   * @default 0
   */
  port?: number
  /**
   * Chooses the implementation of HTTP/2: Kubestage's own, which is faster, or node:http2.
   *
   * @default 'own'
   */
  http2?: 'own' | 'node'
  /**
   * Sets the range of cluster IPs.
   *
   * @default '10.96.0.0/16'
   */
  serviceCidr?: string
  /**
   * Turns feature gates on or off. The configuration's key `featureGates` lists them with their defaults.
   *
   * @default {}
   */
  featureGates?: Partial<FeatureGates>
  /**
   * Sets limits of the API server by the names of its flags: `{ maxCelSteps: 5000, idleTimeout: '30s' }`. The
   * configuration's table of the limits of clients has all of them with their defaults.
   *
   * @default {}
   */
  limits?: ClusterLimits
  /**
   * Maps images to programs of this machine: `{ 'nginx:*': ['/usr/sbin/nginx', '-g', 'daemon off;'] }`. A text is split
   * into words as a shell does.
   *
   * @default {}
   */
  images?: Record<string, string | string[]>
  /**
   * Maps images to the folder that comes first on their PATH: `{ 'busybox:*': '/opt/busybox/bin' }`.
   *
   * @default {}
   */
  imagePaths?: Record<string, string>
  /**
   * Names the folder of the images that `kubestage image load` has loaded, which several clusters may share. Its default
   * is `images` in the state folder.
   *
   * @default ''
   */
  imageStore?: string
  /**
   * Says which images are pulled from registries: with `auto` those that stand for nothing on this machine, with `all`
   * those that no program of `images` stands for and that are not in the store. `never` keeps a suite offline.
   *
   * @default 'auto'
   */
  pullImages?: 'auto' | 'all' | 'never'
  /**
   * With `pod`, each pod of a node with processes has a network of its own: an address, all ports, and a localhost. This
   * needs Linux, and root or user namespaces.
   *
   * @default 'host'
   */
  network?: 'host' | 'pod'
  /**
   * Refuses containers that ask for users, rights or limits that this machine cannot give. Without it they run without
   * these, and an event says so.
   *
   * @default false
   */
  strict?: boolean
  /**
   * Chooses where objects are kept.
   *
   * @default 'memory'
   */
  storage?: 'memory' | `sqlite:${string}` | `etcd:${string}`
  /** Names the PEM file of the CA that issued etcd's certificates. */
  etcdCafile?: string
  /** Names the PEM file of the client certificate for etcd; needs `etcdKeyfile`. */
  etcdCertfile?: string
  /** Names the PEM file of the client certificate's key; needs `etcdCertfile`. */
  etcdKeyfile?: string
  /**
   * Sets the prefix of the cluster's keys in etcd. Each cluster needs a prefix of its own.
   *
   * @default '/registry'
   */
  etcdPrefix?: string
  /**
   * Runs the scheduler and the control loops only while this cluster holds their Leases.
   *
   * @default true with etcd, otherwise false
   */
  leaderElect?: boolean
  /**
   * Sets how long others wait for a leader that does not renew its Lease, in whole seconds.
   *
   * @default '15s'
   */
  leaderElectLeaseDuration?: Duration
  /**
   * Sets how long a leader tries to renew its Lease before it stops its loops.
   *
   * @default '10s'
   */
  leaderElectRenewDeadline?: Duration
  /**
   * Sets the time between two tries to get or renew a Lease.
   *
   * @default '2s'
   */
  leaderElectRetryPeriod?: Duration
  /**
   * Names the Lease of the control loops. The scheduler's is always kube-scheduler.
   *
   * @default 'kube-controller-manager'
   */
  leaderElectResourceName?: string
  /**
   * Names the namespace of both Leases.
   *
   * @default 'kube-system'
   */
  leaderElectResourceNamespace?: string
  /**
   * Adds routes, hooks and decorators to the API server: plugins of Fastify, which are loaded in order.
   *
   * @default []
   */
  plugins?: ClusterPlugin[]
  /**
   * Sets how many requests the journal keeps.
   *
   * @default 1000
   */
  journal?: number
  /**
   * Names a folder for records of tests that fail: call `cluster.afterTest` after each test. Without it nothing is
   * recorded.
   */
  recordOnFailure?: string
  /**
   * Sets how long pods may take to end when the cluster is closed.
   *
   * @default '2s'
   */
  shutdownGracePeriod?: Duration
  /**
   * Names the folder of logs, certificates and the kubelets' files.
   *
   * @default a new folder, which is removed with the cluster
   */
  stateDir?: string
  /** Receives one line for each unexpected event. Without it these lines are discarded. */
  onTrouble?(line: string): void
}
