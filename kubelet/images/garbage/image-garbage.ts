import type { Pod } from '../../../shared/api/types.ts'
import type { ContainerRuntime } from '../../runtime/container-runtime.ts'
import { diskOf, onOneDisk } from './image-disk.ts'
import { ImageGarbageCollector, type ImageGarbageOptions } from './image-garbage-collector.ts'
import { type ImageGarbagePolicy, neverCollect } from './options.ts'
import { usedImages } from './used-images.ts'

type CollectorOptions = Omit<ImageGarbageOptions, 'policy' | 'used' | 'disk'>

export interface NodeImageGarbageOptions extends CollectorOptions {
  /** Says what is removed when; absent: images are removed only to spare pods an eviction. */
  policy?: ImageGarbagePolicy
  runtime: Pick<ContainerRuntime, 'list'>
  rootDir: string
  pods(): Iterable<Pod>
  /** Measures the file system of the images; absent: the real one. */
  disk?: ImageGarbageOptions['disk']
}

/** Removes images of a node that no pod uses. */
export class ImageGarbage {
  readonly #options: NodeImageGarbageOptions
  readonly #collector: ImageGarbageCollector

  constructor(options: NodeImageGarbageOptions) {
    const { images, runtime, pods, disk = () => diskOf(images.folder), policy = neverCollect } = options
    this.#options = options
    this.#collector = new ImageGarbageCollector({
      ...options,
      policy,
      disk,
      used: () => usedImages(images, runtime, pods()),
    })
  }

  /** Returns what frees some of the resource before pods are evicted; undefined where images do not take from it. */
  reclaim(signal: string): (() => Promise<void>) | undefined {
    const { images, rootDir } = this.#options
    const takes = signal.startsWith('imagefs.') || (signal.startsWith('nodefs.') && onOneDisk(rootDir, images.folder))
    return takes ? () => this.#collector.removeUnused() : undefined
  }

  close(): void {
    this.#collector.close()
  }
}
