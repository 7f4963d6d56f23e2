import type { Pod } from '../../../shared/api/types.ts'
import { nodeReference } from '../../events/event-recorder.ts'
import type { KubeletBase } from '../../kubelet-base.ts'
import type { ImageService } from '../../runtime/image-service.ts'
import { diskOf, onOneDisk } from './image-disk.ts'
import { ImageGarbageCollector } from './image-garbage-collector.ts'
import { neverCollect } from './options.ts'
import { usedImages } from './used-images.ts'

/** Removes images of a node that no pod uses. */
export class ImageGarbage {
  readonly #rootDir: string
  readonly #images: ImageService
  readonly #collector: ImageGarbageCollector

  constructor(base: KubeletBase, images: ImageService, pods: () => Iterable<Pod>) {
    const { imageDisk, imageGarbage, metrics, nodeName, rootDir, runtime, warn } = base
    this.#rootDir = rootDir
    this.#images = images
    this.#collector = new ImageGarbageCollector({
      ...base,
      images,
      policy: imageGarbage ?? neverCollect,
      node: nodeReference(nodeName),
      used: () => usedImages(images, runtime, pods()),
      disk: imageDisk ?? (() => diskOf(images.folder)),
      onRemoved: (reason) => metrics.imageRemoved(reason),
      onError: (error) => warn(error, 'images could not be garbage collected'),
    })
  }

  /** Returns what frees some of the resource before pods are evicted; undefined where images do not take from it. */
  reclaim(signal: string): (() => Promise<void>) | undefined {
    const isOneDisk = () => onOneDisk(this.#rootDir, this.#images.folder)
    const takes = signal.startsWith('imagefs.') || (signal.startsWith('nodefs.') && isOneDisk())
    return takes ? () => this.#collector.removeUnused() : undefined
  }

  close(): void {
    this.#collector.close()
  }
}
