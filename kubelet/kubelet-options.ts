import type { FeatureGates } from '../shared/config/feature-gates.ts'
import type { ReachedLimits } from '../shared/limits/reached-limits.ts'
import type { ContainerLimitName } from './container-limits.ts'
import type { EvictionConfig } from './eviction/eviction-manager.ts'
import type { Observations } from './eviction/signals.ts'
import type { ImageGarbagePolicy } from './images/garbage/options.ts'
import type { KubeletMetrics } from './metrics/kubelet-metrics.ts'
import type { LossMark } from './node/loss-mark.ts'
import type { PodCidr } from './node/pod-cidr.ts'
import type { ShutdownGroup } from './node/shutdown.ts'
import type { PodLifecycleOptions } from './pods/pod-lifecycle.ts'
import type { ImageService } from './runtime/image-service.ts'

type OfPods =
  | ('client' | 'clock' | 'runtime' | 'actions' | 'nodeName' | 'nodeIP' | 'apiServer' | 'rootDir')
  | ('brief' | 'strict' | 'podPidsLimit' | 'random' | 'crashLoopBackOff')

export interface KubeletOptions extends Pick<PodLifecycleOptions, OfPods> {
  log: KubeletLog
  /** The port of the kubelet's own HTTPS API, shown in the node's status. */
  port: number
  nodeLabels?: Record<string, string>
  /** A folder whose files are pods of this node. */
  staticPodPath?: string
  /** The number of pods that the node takes; by default 110. */
  maxPods?: number
  /**
   * Make volumes, and files for last words; on by default. Not where no program could read them: missing sources of a
   * volume are still reported.
   */
  podFiles?: boolean
  /** Features that are on or off other than by default. */
  featureGates?: Partial<FeatureGates>
  /** Kernel parameters that pods may set beside the safe ones; see {@link SysctlPolicy}. */
  allowedUnsafeSysctls?: readonly string[]
  /** A second DELETE that leaves less time shortens a kill that has begun; off by default, as upstream. */
  shortenRunningKills?: boolean
  /** Says when pods are evicted because the node runs short of a resource; by default never. */
  eviction?: EvictionConfig
  /** Measures what is left of memory, disk and process ids; by default this machine's. */
  observe?(): Promise<Observations>
  /** The images that the machine keeps; absent where it keeps none. */
  images?: ImageService
  /** Says when images are removed again; by default never. */
  imageGarbage?: ImageGarbagePolicy
  /** Measures the file system of the images; by default the real one. */
  imageDisk?(): Promise<{ available: number; capacity: number }>
  /** Says how many images the node's status shows at most: 50 by default, and all with -1. */
  nodeStatusMaxImages?: number
  /** Says how long pods may take to end when the node shuts down; by default they end at once. */
  shutdownGroups?: readonly ShutdownGroup[]
  /** Tells the node's next kubelet if the node is lost; by default it does not know. */
  lossMark?: LossMark
  /** Sets the addresses of pods; `auto` by default. */
  podCidr?: PodCidr
  /** Delays what the rules of Services learn of changes, by these milliseconds of the machine; 0 by default. */
  endpointLagMs?: number
  /** Asks for a tunnel to nodes of other machines; `why` says why it cannot be had. By default there is none. */
  tunnel?: { why?: string }
  /** Resolves when the API server has answered; absent where it is known to be Kubestage's. */
  isKubestage?(): Promise<boolean>
  /** Counts the limits that containers reach; by default they are not counted. */
  limits?: ReachedLimits<ContainerLimitName>
  /** Metrics of the kubelet; by default they are not served. */
  metrics?: KubeletMetrics
}

export interface KubeletLog {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}
