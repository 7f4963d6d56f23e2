/**
 * `/stats/summary`: the fields that are served; upstream: k8s.io/kubelet/pkg/apis/stats/v1alpha1. Times are RFC 3339 of
 * the machine's clock.
 */
export interface Summary {
  node: NodeStats
  pods: PodStats[]
}
export interface NodeStats {
  nodeName: string
  startTime: string
  cpu?: CpuStats
  memory?: MemoryStats
  fs?: FsStats
  rlimit?: { time: string; maxpid: number; curproc: number }
}
export interface PodStats {
  podRef: { name: string; namespace: string; uid: string }
  startTime: string
  containers: ContainerStats[]
  cpu: CpuStats
  memory: MemoryStats
  'ephemeral-storage': FsStats
  process_stats: { process_count: number }
}
export interface ContainerStats {
  name: string
  startTime: string
  cpu: CpuStats
  memory: MemoryStats
  rootfs: FsStats
}
export interface CpuStats {
  time: string
  /** Holds the rate since the previous page; absent on the first page. */
  usageNanoCores?: number
  usageCoreNanoSeconds: number
}
export interface MemoryStats {
  time: string
  availableBytes?: number
  usageBytes: number
  workingSetBytes: number
  rssBytes: number
}
export interface FsStats {
  time: string
  availableBytes?: number
  capacityBytes?: number
  usedBytes: number
  inodesFree?: number
  inodes?: number
  inodesUsed?: number
}
