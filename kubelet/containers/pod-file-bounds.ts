import { type FSWatcher, statSync, truncateSync, watch } from 'node:fs'
import path from 'node:path'
import type { Pod } from '../../shared/api/types.ts'
import type { Clock, Timer } from '../../shared/clock/clock.ts'
import { namesIn } from '../../shared/files/readable.ts'
import type { EventRecorder } from '../events/event-recorder.ts'

/** Each file may be larger than the machine's own by this size. */
const MOST_BYTES = 1024 * 1024
/**
 * After this many changes a folder is not watched for a while, so that a program that writes without end costs little
 * CPU.
 */
const MANY_CHANGES = 50
const REST_MS = 250
const BLOCK_BYTES = 512

/** Names in the folder of a pod, and what containers see there. */
const machineFiles: Record<string, string> = { 'etc-hosts': '/etc/hosts', 'resolv.conf': '/etc/resolv.conf' }

interface Watched {
  pod: Pod
  folder: string
  /**
   * Watches the folder; absent while it rests, or if the machine has no watches left. It is looked at after its rest.
   */
  watcher?: FSWatcher
  changes: number
  /** The files of which an event has told. */
  told: Set<string>
}

/**
 * Cuts the files that containers write to although they lie in no volume: termination logs, `/etc/hosts` and
 * `/etc/resolv.conf`. They are mounted from the folder of their pod, which is on the machine's disk.
 */
export class PodFileBounds {
  readonly #events: EventRecorder
  readonly #clock: Clock
  readonly #watched = new Map<string, Watched>()
  readonly #resting = new Set<Watched>()
  #timer: Timer | undefined

  constructor({ events, clock }: { events: EventRecorder; clock: Clock }) {
    this.#events = events
    this.#clock = clock.machine
  }

  /** Watches the folder of a pod from the first call for it on. The folder is there. */
  add(pod: Pod, folder: string): void {
    if (this.#watched.has(pod.metadata.uid ?? '')) return
    const watched: Watched = { pod, folder, changes: 0, told: new Set() }
    this.#watched.set(pod.metadata.uid ?? '', watched)
    this.#watch(watched)
  }

  remove(podUid: string): void {
    const watched = this.#watched.get(podUid)
    if (!watched) return
    watched.watcher?.close()
    this.#watched.delete(podUid)
    this.#resting.delete(watched)
  }

  close(): void {
    for (const uid of [...this.#watched.keys()]) this.remove(uid)
    this.#timer?.cancel()
  }

  #watch(watched: Watched): void {
    watched.changes = 0
    try {
      watched.watcher = watch(watched.folder, { persistent: false }, (_, name) => this.#changed(watched, name))
      watched.watcher.on('error', () => this.#rest(watched))
    } catch {
      this.#rest(watched)
    }
  }

  #changed(watched: Watched, name: string | null): void {
    if (name !== null) this.#bound(watched, name)
    watched.changes += 1
    if (watched.changes > MANY_CHANGES) this.#rest(watched)
  }

  #rest(watched: Watched): void {
    watched.watcher?.close()
    watched.watcher = undefined
    this.#resting.add(watched)
    this.#timer ??= this.#clock.setTimer(REST_MS, () => this.#look(), { background: true })
  }

  #look(): void {
    this.#timer = undefined
    const rested = [...this.#resting]
    this.#resting.clear()
    for (const watched of rested) {
      // In this order: what is written between the two is a change.
      this.#watch(watched)
      for (const name of namesIn(watched.folder)) this.#bound(watched, name)
    }
  }

  #bound({ pod, folder, told }: Watched, name: string): void {
    const file = path.join(folder, name)
    if (bytesOf(file) <= MOST_BYTES) return
    const own = machineFiles[name]
    const most = MOST_BYTES + (own === undefined ? 0 : bytesOf(own))
    if (bytesOf(file) <= most) return
    try {
      truncateSync(file, most)
    } catch {
      return // gone meanwhile
    }
    if (told.has(name)) return
    told.add(name)
    const what = own ?? `The termination log of container ${name.split('.')[0]}`
    this.#events.podEvent(pod, undefined, 'Warning', 'FileCut', `${what} had more than ${most} bytes; it is cut there`)
  }
}

/** Returns the bytes that a file uses of the disk; 0 if it is not a regular file. */
function bytesOf(file: string): number {
  const stat = statSync(file, { throwIfNoEntry: false })
  return stat?.isFile() ? stat.blocks * BLOCK_BYTES : 0
}
