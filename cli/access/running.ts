import { rmSync } from 'node:fs'
import { showStorage } from '../../apiserver/storage/open-storage.ts'
import type { Cluster } from '../../cluster/cluster.ts'
import { guardian } from '../../cluster/guardian.ts'
import { version } from '../../cluster/package.ts'
import type { ClusterSettings } from '../../cluster/settings.ts'
import { type StateDirectory, stateDirectory } from '../../cluster/state-directory.ts'
import type { OtherServer } from '../../cluster/supervisor/api-servers.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { toTime } from '../../shared/clock/timestamp.ts'
import { inOneSentence } from '../../shared/config/system-errors.ts'
import { type Holder, holderFor, type LockHolder, living, lockHolder } from '../../shared/files/lock.ts'
import { readRegularFile } from '../../shared/files/regular-file.ts'
import { writePrivately } from '../../shared/pki/files.ts'
import type { ImageOrigins } from './image-source.ts'

/**
 * Describes a running cluster for other commands. The file exists from the time that the cluster is ready until it
 * stops.
 */
export interface RunningCluster {
  pid: number
  /** Process that starts the server again when the server ends by itself. */
  guardian?: Holder
  /** Counts how often the guardian started a server again; `lastEnding` says how the last of these servers ended. */
  restarts?: number
  lastEnding?: string
  /** Kubelet of the first node, while it runs; `kubeletPids` has those of all nodes. */
  kubeletPid?: number
  kubeletPids: number[]
  /** Process of the etcd that the cluster started, while that runs. */
  etcdPid?: number
  /** Names the address at which the process `pid` alone answers, if there are others: they may share `url`. */
  ownUrl?: string
  /** Lists the API servers other than the process `pid`. */
  otherServers?: readonly OtherServer[]
  version: string
  url: string
  startedAt: string
  /** First node that runs pods. */
  node?: string
  /** Number of nodes; absent if there is one. */
  nodes?: number
  simulatedNodes?: number
  storage: string
  imageOrigins: ImageOrigins
}

type LastingFacts = Omit<RunningCluster, 'kubeletPid' | 'kubeletPids' | 'etcdPid' | 'ownUrl' | 'otherServers'>

/** Keeps the file that describes the running cluster, and rewrites it when other kubelets run. */
export class Announcement {
  readonly #cluster: Cluster
  readonly #lasting: LastingFacts
  #isOver = false

  /** Throws the file system's error if the file cannot be written. */
  constructor(
    cluster: Cluster,
    settings: ClusterSettings,
    { clock, imageOrigins }: { clock: Clock; imageOrigins: ImageOrigins },
  ) {
    this.#cluster = cluster
    this.#lasting = lastingFacts(cluster, settings, { clock, imageOrigins })
    this.#write()
  }

  update(): void {
    if (this.#isOver) return
    try {
      this.#write()
    } catch {
      // A full disk costs these numbers, not the cluster.
    }
  }

  takeBack(): void {
    this.#isOver = true
    rmSync(this.#cluster.state.running, { force: true })
  }

  #write(): void {
    const { state } = this.#cluster
    const { pid, ...more } = this.#lasting
    const { ownUrl } = this.#cluster
    const others = this.#cluster.otherServers()
    const kubelets = {
      kubeletPid: this.#cluster.kubeletPid(),
      kubeletPids: this.#cluster.kubeletPids(),
      etcdPid: this.#cluster.etcdPid(),
      ...(others.length > 0 && { ownUrl, otherServers: others }),
    }
    writePrivately(state.running, `${JSON.stringify({ pid, ...kubelets, ...more }, undefined, 2)}\n`)
  }
}

function lastingFacts(
  cluster: Cluster,
  { storage }: ClusterSettings,
  { clock, imageOrigins }: { clock: Clock; imageOrigins: ImageOrigins },
): LastingFacts {
  const { real, simulated } = cluster.nodeNames
  const { pid: guardianPid, restarts, ending } = guardian() ?? {}
  return {
    pid: process.pid,
    ...(guardianPid && storage.engine !== 'memory' && { guardian: holderFor(guardianPid) }),
    ...(restarts && { restarts, lastEnding: ending }),
    version,
    url: cluster.url,
    startedAt: toTime(clock.now()),
    ...(real.length > 0 && { node: real[0] }),
    ...(real.length > 1 && { nodes: real.length }),
    ...(simulated.length > 0 && { simulatedNodes: simulated.length }),
    storage: showStorage(storage),
    imageOrigins,
  }
}

export interface Found {
  state: StateDirectory
  /** Process that holds the folder; absent if there is none. */
  holder?: LockHolder
  /** Process that ends the cluster when it ends: the holder's parent, or the holder itself. Absent if none runs. */
  root?: LockHolder
  /** Holds the running cluster; absent before it is ready, and after it began to stop. */
  running?: RunningCluster
}

/** Returns which processes run with this state folder. */
export function findRunning(stateDir: string): Found {
  const state = stateDirectory(stateDir)
  const holder = holderOf(state)
  const last = readRunning(state.running)
  const root = (last?.guardian && living(last.guardian)) ?? holder
  return { state, holder, root, running: holder && last?.pid === holder.pid ? last : undefined }
}

function holderOf({ lock, root }: StateDirectory): LockHolder | undefined {
  try {
    return lockHolder(lock)
  } catch (error) {
    throw (
      inOneSentence(error as Error, {
        place: `cannot read state folder ${root}`,
        remedy: 'name your own with --state-dir',
      }) ?? error
    )
  }
}

/** Returns what the last cluster left in this folder; undefined if it stopped cleanly. */
export const lastRun = (stateDir: string): RunningCluster | undefined => readRunning(stateDirectory(stateDir).running)

function readRunning(file: string): RunningCluster | undefined {
  try {
    return JSON.parse(readRegularFile(file)) as RunningCluster
  } catch {
    return undefined // not there, or not yet
  }
}
