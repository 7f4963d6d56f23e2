import { chmodSync, existsSync, mkdirSync } from 'node:fs'
import path from 'node:path'
import { claimNameOf } from '../../shared/api/pods/pod-claims.ts'
import type { Pod } from '../../shared/api/types.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { toTime } from '../../shared/clock/timestamp.ts'
import type { EventRecorder } from '../events/event-recorder.ts'
import { allContainers } from '../pod/container-kinds.ts'
import { VOLUMES } from '../pod/folders.ts'
import type { MemoryFolders } from '../runtime/container-runtime.ts'
import { writeAtomically } from './atomic-writer.ts'
import { type GroupOwner, giveToGroup, isAnotherGroups, mayChangeOwners } from './give-to-group.ts'
import { checkHostPath, placeOnNode } from './host-path.ts'
import { isInMemory, memoryVolumeBytes } from './memory-volume.ts'
import { PayloadBudget } from './payload-budget.ts'
import { type Volume, VolumeError, type VolumeSources, volumePayload } from './volume-payload.ts'

export interface VolumeManagerOptions {
  clock: Clock
  events: EventRecorder
  sources: VolumeSources
  podDir(podUid: string): string
  /** Names the folder of the node's `/var/log` on this machine. */
  nodeLogs: string
  /** If false, no file is written or looked for on this machine; only the sources of volumes are checked. */
  podFiles: boolean
  /** Makes folders in memory. Without it volumes in memory are folders on disk, and an event says so. */
  memoryFolders?: MemoryFolders
}

const groupOf = ({ spec }: Pod, readonly: boolean): GroupOwner | undefined => {
  const group = spec.securityContext?.fsGroup
  return group === undefined ? undefined : { group, readonly }
}

/** Changes volumes that containers write to, once: containers may change modes afterwards. */
function giveToGroupOf(pod: Pod, dir: string): void {
  const owner = groupOf(pod, false)
  const isLazy = pod.spec.securityContext?.fsGroupChangePolicy === 'OnRootMismatch'
  if (owner && mayChangeOwners() && (!isLazy || isAnotherGroups(dir, owner))) giveToGroup(dir, owner)
}

const FIRST_RETRY_MS = 500
const MAX_RETRY_MS = 122_000
const GIVE_UP_MS = 123_000
/** Contents that stand are read again not more often than this. */
const REFRESH_MS = 60_000

/** Manages the directories behind a pod's volumes. */
export class VolumeManager {
  readonly #options: VolumeManagerOptions
  readonly #budget = new PayloadBudget()
  /** Maps each volume to the time of its last setup. */
  readonly #standing = new Map<string, number>()
  readonly #claimedPaths = new Map<string, string>()

  constructor(options: VolumeManagerOptions) {
    this.#options = options
  }

  /**
   * Resolves when all volumes that a container mounts stand. Tries again by itself; rejects when `signal` aborts, or
   * after two minutes.
   */
  async mount(pod: Pod, signal: AbortSignal): Promise<void> {
    const mounted = new Set(
      allContainers(pod.spec).flatMap(({ volumeMounts = [] }) => volumeMounts.map(({ name }) => name)),
    )
    const volumes = (pod.spec.volumes ?? []).filter(({ name }) => mounted.has(name))
    try {
      await Promise.all(volumes.map((volume) => this.#untilSetUp(pod, volume, signal)))
    } catch (error) {
      if (!signal.aborted) {
        const open = volumes
          .filter(({ name }) => !this.#standing.has(`${pod.metadata.uid}/${name}`))
          .map(({ name }) => name)
        const message = `Unable to attach or mount volumes: unmounted volumes=[${open.join(' ')}], unattached volumes=[], failed to process volumes=[]: context deadline exceeded`
        this.#options.events.podEvent(pod, undefined, 'Warning', 'FailedMount', message)
      }
      throw error
    }
  }

  path(pod: Pod, volume: Volume): string {
    if (volume.hostPath) return placeOnNode(volume.hostPath.path, this.#options.nodeLogs)
    const claimed = this.#claimedPaths.get(`${pod.metadata.uid}/${volume.name}`)
    if (claimed !== undefined) return claimed
    const plugin = PLUGINS.find(({ field }) => volume[field] !== undefined)?.dir ?? 'empty-dir'
    return path.join(this.#options.podDir(pod.metadata.uid ?? ''), VOLUMES, `kubernetes.io~${plugin}`, volume.name)
  }

  forget(podUid: string): void {
    this.#budget.forget(podUid)
    for (const known of [this.#standing, this.#claimedPaths])
      for (const key of known.keys()) if (key.startsWith(`${podUid}/`)) known.delete(key)
  }

  async #setUp(pod: Pod, volume: Volume): Promise<void> {
    const { clock, sources, podFiles, memoryFolders } = this.#options
    if (volume.hostPath) {
      if (podFiles) checkHostPath(this.path(pod, volume), volume.hostPath.type)
      return
    }
    const claim = claimNameOf(pod, volume)
    if (claim !== undefined) return this.#setUpClaim(pod, volume, claim)
    if (podFiles && !KINDS.some((kind) => volume[kind] !== undefined)) throw new VolumeError('no volume plugin matched')
    const dir = this.path(pod, volume)
    const charge = this.#budget.begin(pod.metadata.uid ?? '', volume.name)
    const payload = await volumePayload(pod, volume, sources, charge)
    if (!podFiles) return
    if (payload) {
      writeAtomically(dir, payload, toTime(clock.now()).slice(0, -1).replace(/\D/g, '_'), groupOf(pod, true))
      return
    }
    if (isInMemory(volume) && memoryFolders) {
      const isNew = await memoryFolders.mount(dir, memoryVolumeBytes(pod, volume, sources.allocatable().memory ?? '0'))
      if (isNew) giveToGroupOf(pod, dir)
    } else if (mkdirSync(dir, { recursive: true }) !== undefined) {
      if (volume.emptyDir) chmodSync(dir, 0o777)
      giveToGroupOf(pod, dir)
    }
  }

  /** Says once for each volume that it is not in memory. */
  #sayIfNotInMemory(pod: Pod, volume: Volume): void {
    const { events, podFiles, memoryFolders } = this.#options
    if (!podFiles || memoryFolders || !isInMemory(volume)) return
    const message = `Volume "${volume.name}" of medium Memory is a folder on disk, without a size: this node can mount nothing`
    events.podEvent(pod, undefined, 'Warning', 'NotInMemory', message)
  }

  async #setUpClaim(pod: Pod, volume: Volume, claim: string): Promise<void> {
    const { sources, podFiles } = this.#options
    const { path: folder, type, provisioned } = await sources.claimed(pod.metadata.namespace ?? '', claim)
    if (!podFiles) return
    const isNew = provisioned && !existsSync(folder)
    checkHostPath(folder, type)
    if (isNew) chmodSync(folder, 0o777)
    const key = `${pod.metadata.uid}/${volume.name}`
    if (provisioned && !this.#claimedPaths.has(key)) giveToGroupOf(pod, folder)
    this.#claimedPaths.set(key, folder)
  }

  async #untilSetUp(pod: Pod, volume: Volume, signal: AbortSignal): Promise<void> {
    const { clock, events, memoryFolders } = this.#options
    const key = `${pod.metadata.uid}/${volume.name}`
    const stoodAtMs = this.#standing.get(key)
    // A volume in memory is gone after a reboot of the machine.
    const mayBeGone = isInMemory(volume) && memoryFolders !== undefined
    if (stoodAtMs !== undefined && !mayBeGone && clock.monotonic() - stoodAtMs < REFRESH_MS) return
    const startedMs = clock.monotonic()
    for (let waitMs = FIRST_RETRY_MS; ; waitMs = Math.min(MAX_RETRY_MS, waitMs * 2)) {
      try {
        await this.#setUp(pod, volume)
        if (stoodAtMs === undefined) this.#sayIfNotInMemory(pod, volume)
        this.#standing.set(key, clock.monotonic())
        return
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error)
        const message = `MountVolume.SetUp failed for volume "${volume.name}" : ${why}`
        events.podEvent(pod, undefined, 'Warning', 'FailedMount', message)
        // A volume that was set up before keeps its contents.
        if (stoodAtMs !== undefined) return
        if (clock.monotonic() - startedMs > GIVE_UP_MS) throw error
        await clock.sleep(waitMs, { signal })
      }
    }
  }
}

/** Lists the supported kinds beside hostPath and claims. Containers that mount an image wait for it themselves. */
const KINDS = ['emptyDir', 'configMap', 'secret', 'projected', 'downwardAPI', 'image'] as const

const PLUGINS = [
  { field: 'configMap', dir: 'configmap' },
  { field: 'secret', dir: 'secret' },
  { field: 'projected', dir: 'projected' },
  { field: 'downwardAPI', dir: 'downward-api' },
] as const
