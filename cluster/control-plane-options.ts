import type { AuditFlags } from '../apiserver/audit/options.ts'
import type { Http2Choice } from '../apiserver/config.ts'
import type { Limits } from '../apiserver/http/limits/limits.ts'
import type { NamedPlugin } from '../apiserver/http/plugins/plugin.ts'
import type { EtcdFiles } from '../apiserver/storage/open-options.ts'
import type { StorageChoice } from '../apiserver/storage/open-storage.ts'
import type { Clock } from '../shared/clock/clock.ts'
import type { ElectionFlags } from '../shared/config/election-options.ts'
import type { FeatureGates } from '../shared/config/feature-gates.ts'
import type { LoopFlags } from '../shared/config/loop-options.ts'
import type { Logger } from '../shared/log/log.ts'
import type { ClusterPki } from '../shared/pki/cluster-pki.ts'

export interface ControlPlaneOptions
  extends Partial<Limits>,
    Partial<ElectionFlags>,
    Partial<LoopFlags>,
    Partial<AuditFlags>,
    EtcdFiles {
  host: string
  /** 0 takes a free one. */
  port: number
  /** A second port, at which this server alone answers: others may listen at `port` as well. 0 takes a free one. */
  ownPort?: number
  http2?: Http2Choice
  serviceAccountIssuer?: string
  serviceCidr: string
  featureGates: FeatureGates
  corsAllowedOrigins?: readonly string[]
  /** Names a PEM file. If it is absent or empty, certificates of kubelets are not verified. */
  kubeletCertificateAuthority?: string
  /** Milliseconds that the records of terminations are kept; less than 0: the engine of the storage decides. */
  terminationTtl?: number
  /** The range out of which each node gets one for its pods. Absent or empty: they get none. */
  clusterCidr?: string
  scheduler: boolean
  /**
   * In the form of kube-controller-manager's `--controllers`; `false`: the server stands alone, and pods need no
   * service account. Default: all.
   */
  controllers?: readonly string[] | false
  /** A folder of this machine for the volumes that claims get. Absent: they get none. */
  volumesDir?: string
  /** Chooses where objects are kept; in memory by default. */
  storage?: StorageChoice
  /** Sets the prefix of the keys in etcd; /registry by default. */
  etcdPrefix?: string
  /** Path of a Unix socket at which other API servers of this machine reach a store in memory or in a file. */
  offerAt?: string
  /** URL of the API server for machines that join the cluster, in cluster-info. Default: the one it listens on. */
  joinUrl?: string
  /** Holds the address of all API servers together; by default that of the first of them. */
  controlPlaneEndpoint?: string
  /** Sets what /version announces; v1.36.3 by default. */
  kubernetesVersion?: string
  /** Sets how many requests the journal keeps; none by default. */
  journal?: number
  /** Lists the plugins of users. */
  plugins?: readonly NamedPlugin[]
  pki: ClusterPki
  clock: Clock
  log: Logger
  /** Receives one line for the user about each unexpected event. Without it such events are only logged. */
  onTrouble?(line: string): void
}
