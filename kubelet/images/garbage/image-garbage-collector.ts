import type { Clock, Timer } from '../../../shared/clock/clock.ts'
import type { EventRecorder, ObjectReference } from '../../events/event-recorder.ts'
import { goDuration } from '../../pod/go-duration.ts'
import type { ImageService } from '../../runtime/image-service.ts'
import { type AgedImage, ImageAges } from './image-ages.ts'
import type { ImageGarbagePolicy } from './options.ts'
import { sizeText } from './size-text.ts'

export interface ImageGarbageOptions {
  images: ImageService
  policy: ImageGarbagePolicy
  clock: Clock
  events: EventRecorder
  node: ObjectReference
  /** Returns the IDs of images that containers, running or ended, and image volumes of pods use. */
  used(): Promise<ReadonlySet<string>>
  /** Measures the file system of the images. */
  disk(): Promise<{ available: number; capacity: number }>
  onRemoved?(reason: 'space' | 'age'): void
  onError(error: unknown): void
}

const periodMs = 300_000
/** The first look at the images, from which on their age counts. */
const firstMs = 10_000

/**
 * Removes images that no container uses when the disk fills, or when they are old. Upstream:
 * pkg/kubelet/images/image_gc_manager.go.
 */
export class ImageGarbageCollector {
  readonly #options: ImageGarbageOptions
  readonly #ages = new ImageAges()
  readonly #beganMs: number
  #timer: Timer | undefined
  #hasFailed = false
  #isClosed = false

  constructor(options: ImageGarbageOptions) {
    this.#options = options
    this.#beganMs = options.clock.monotonic()
    this.#schedule(firstMs)
  }

  /** Frees all that can be freed, as the eviction of pods wants it before it begins. */
  async removeUnused(): Promise<void> {
    const nowMs = this.#options.clock.monotonic()
    await this.#free(await this.#unused(nowMs), Number.MAX_SAFE_INTEGER, nowMs)
  }

  close(): void {
    this.#isClosed = true
    this.#timer?.cancel()
  }

  #schedule(delayMs: number): void {
    if (this.#isClosed) return
    const round = (): void => void this.#round().finally(() => this.#schedule(periodMs))
    this.#timer = this.#options.clock.setTimer(delayMs, round, { background: true })
  }

  async #round(): Promise<void> {
    const { events, node, onError } = this.#options
    try {
      await this.#collect()
      this.#hasFailed = false
    } catch (error) {
      onError(error)
      // Upstream tells only of a failure that is not the first.
      if (this.#hasFailed) events.event(node, 'Warning', 'ImageGCFailed', (error as Error).message)
      this.#hasFailed = true
    }
  }

  async #collect(): Promise<void> {
    const { clock, policy, disk, events, node } = this.#options
    const nowMs = clock.monotonic()
    const unused = await this.#removeOld(await this.#unused(nowMs), nowMs)
    // Where nothing was pulled, a full disk is not the images' matter.
    if (policy.highThresholdPercent === 100 || this.#ages.isEmpty) return
    const { capacity, ...measured } = await disk()
    if (capacity === 0) {
      const message = 'invalid capacity 0 on image filesystem'
      events.event(node, 'Warning', 'InvalidDiskCapacity', message)
      throw new Error(message)
    }
    const available = Math.min(measured.available, capacity)
    const usedPercent = 100 - Math.trunc((available * 100) / capacity)
    if (usedPercent < policy.highThresholdPercent) return
    const wanted = Math.trunc((capacity * (100 - policy.lowThresholdPercent)) / 100) - available
    const freed = await this.#free(unused, wanted, nowMs)
    if (freed >= wanted) return
    const message = `Insufficient free disk space on the node's image filesystem (${usedPercent}% of ${sizeText(capacity)} used). Failed to free sufficient space by deleting unused images (freed ${freed} bytes). Investigate disk usage, as it could be used by active images, logs, volumes, or other data.`
    events.event(node, 'Warning', 'FreeDiskSpaceFailed', message)
    throw new Error(message)
  }

  async #unused(nowMs: number): Promise<AgedImage[]> {
    const { images } = this.#options
    const [all, used] = await Promise.all([images.list(), this.#options.used()])
    this.#ages.see(all, used, nowMs)
    return this.#ages.unused(used)
  }

  /** Removes images that were not used for too long. Returns the others. */
  async #removeOld(unused: readonly AgedImage[], nowMs: number): Promise<AgedImage[]> {
    const { maximumAgeMs } = this.#options.policy
    // Before that it is not known for how long they were not used.
    if (maximumAgeMs === 0 || nowMs - this.#beganMs <= maximumAgeMs) return [...unused]
    const isOld = ({ lastUsedMs }: AgedImage): boolean => nowMs - lastUsedMs > maximumAgeMs
    const { failures, left } = await this.#remove(unused.filter(isOld), 'age')
    if (failures.length > 0) {
      const what = `wanted to free images older than ${goDuration(maximumAgeMs)}, encountered errors in image deletion`
      throw new Error(`${what}: ${joined(failures)}`)
    }
    return [...left, ...unused.filter((image) => !isOld(image))]
  }

  /** Removes images until so many bytes are free. Returns how many were freed. */
  async #free(unused: readonly AgedImage[], wanted: number, nowMs: number): Promise<number> {
    const { minimumAgeMs } = this.#options.policy
    const ofAge = unused.filter(
      ({ firstSeenMs, lastUsedMs }) => lastUsedMs < nowMs && nowMs - firstSeenMs >= minimumAgeMs,
    )
    const { freed, failures } = await this.#remove(ofAge, 'space', wanted)
    if (failures.length === 0) return freed
    const what = `wanted to free ${wanted} bytes, but freed ${freed} bytes space with errors in image deletion`
    throw new Error(`${what}: ${joined(failures)}`)
  }

  async #remove(images: readonly AgedImage[], reason: 'space' | 'age', wanted = Number.MAX_SAFE_INTEGER) {
    const failures: string[] = []
    const left: AgedImage[] = []
    let freed = 0
    for (const aged of images) {
      const { id, sizeBytes } = aged.image
      if (freed >= wanted) break
      try {
        if (!(await this.#options.images.remove(id))) {
          left.push(aged)
          continue
        }
        freed += sizeBytes
        this.#ages.forget(id)
        this.#options.onRemoved?.(reason)
      } catch (error) {
        failures.push((error as Error).message)
      }
    }
    return { failures, left, freed }
  }
}

/** Joins errors as upstream does: each once, in brackets if there are several. */
function joined(failures: readonly string[]): string {
  const all = [...new Set(failures)]
  return all.length === 1 ? (all[0] ?? '') : `[${all.join(', ')}]`
}
