import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { type Digest, hexOf } from '../digest.ts'
import { filesOf } from '../unpack/layer-folder.ts'

/**
 * Where things are in a store:
 *
 * - `names/HEX`: a record of an image, by the hash of its name. An image exists if it has one.
 * - `layers/HEX`: an unpacked layer, by the digest of its archive.
 * - `roots/HEX`: the merged tree of several layers, by the hash of their digests.
 * - `blobs/HEX`: manifests and configurations, by digest.
 * - `pulled/HEX`: which pods may use an image that a kubelet has pulled, by the digest of its configuration.
 * - `loading/…`: what is being loaded, each with the lock of its process.
 */
export class StoreFolders {
  readonly names: string
  readonly layers: string
  readonly roots: string
  readonly blobs: string
  readonly pulled: string
  readonly loading: string
  readonly lock: string

  constructor(root: string) {
    this.names = join(root, 'names')
    this.layers = join(root, 'layers')
    this.roots = join(root, 'roots')
    this.blobs = join(root, 'blobs')
    this.pulled = join(root, 'pulled')
    this.loading = join(root, 'loading')
    this.lock = join(root, 'lock')
  }

  /** All folders, each to be made before the first image. */
  get all(): string[] {
    return [this.names, this.layers, this.roots, this.blobs, this.loading]
  }

  record(name: string): string {
    return join(this.names, createHash('sha256').update(name).digest('hex'))
  }
  layer(digest: Digest): string {
    return join(this.layers, hexOf(digest))
  }
  blob(digest: Digest): string {
    return join(this.blobs, hexOf(digest))
  }

  /** The part of the store with the tree that containers see: an image of one layer has that layer's. */
  tree(layers: readonly Digest[]): string {
    const [only, ...more] = layers
    if (only && more.length === 0) return this.layer(only)
    return join(this.roots, createHash('sha256').update(layers.join(' ')).digest('hex'))
  }

  root(layers: readonly Digest[]): string {
    return layers.length === 1 ? filesOf(this.tree(layers)) : this.tree(layers)
  }
}
