import { watch } from 'node:fs'
import { basename } from 'node:path'
import { makeFolder } from '../../shared/files/make-folder.ts'
import type { ResolvedImage } from '../runtime/container-runtime.ts'
import type { ImageName } from '../runtime/images/image-name.ts'
import { fullName } from './store/image-names.ts'
import type { ImageRecord } from './store/image-record.ts'
import { NamedImages } from './store/named-images.ts'
import { StoreFolders } from './store/store-folders.ts'

/** Shows a kubelet the images of a store, which other processes change. */
export class StoredImages {
  readonly #folders: StoreFolders
  readonly #images: NamedImages
  readonly #known = new WeakMap<ImageRecord, ResolvedImage>()
  readonly #listeners: (() => void)[] = []
  /** Records that the kubelet's own pulls write: the pods that wait for them go on by themselves. */
  readonly #expected = new Set<string>()
  #isWatched = false

  constructor(root: string) {
    this.#folders = new StoreFolders(root)
    this.#images = new NamedImages(root)
  }

  find(name: ImageName): ResolvedImage | undefined {
    const record = this.#images.find(name)
    if (record) return this.#resolved(record)
    this.#watch()
    return undefined
  }

  /** Returns one object for all pods of an image: what they learn of its files they learn once. */
  #resolved(record: ImageRecord): ResolvedImage {
    const known = this.#known.get(record)
    if (known) return known
    const image = resolved(record, this.#images.root(record))
    this.#known.set(record, image)
    return image
  }

  /** Says that the next change of this name is no news. */
  expect(name: ImageName): void {
    this.#expected.add(basename(this.#folders.record(fullName(name))))
  }

  /** Calls back when the store has changed after an image was not found. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener)
  }

  /** Begins when an image is missed: most clusters load none. */
  #watch(): void {
    if (this.#isWatched || this.#listeners.length === 0) return
    this.#isWatched = true
    try {
      makeFolder(this.#folders.names)
      const watcher = watch(this.#folders.names, { persistent: false }, (_event, file) => {
        if (file === null || this.#expected.delete(file)) return
        for (const listener of this.#listeners) listener()
      })
      watcher.on('error', () => watcher.close())
    } catch {
      // The machine allows no watch, or no folder: the pod's next try finds the image.
    }
  }
}

function resolved(
  { name, id, digest, config, bytes, pulledBytes, byKubelet }: ImageRecord,
  folder: string,
): ResolvedImage {
  const { entrypoint, cmd, env, workingDir, stopSignal, user, volumes } = config
  return {
    id: digest ? `${repositoryOf(name)}@${digest}` : id,
    entrypoint,
    cmd,
    env,
    path: [],
    present: true,
    bytes: pulledBytes ?? bytes,
    isPulled: pulledBytes !== undefined,
    stored: { id, byKubelet: byKubelet ?? false },
    root: { folder, volumes, ...(user && { user }) },
    ...(workingDir && { workingDir }),
    ...(stopSignal && { stopSignal }),
  }
}

/** A full name without its tag or digest. */
const repositoryOf = (name: string): string => name.replace(/(?:@.*|:[^/]*)$/, '')
