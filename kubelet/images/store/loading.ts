import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { takeLock } from '../../../shared/files/lock.ts'
import type { ImageName } from '../../runtime/images/image-name.ts'
import { BadImage } from '../bad-image.ts'
import type { Digest } from '../digest.ts'
import type { ImageConfig } from '../documents.ts'
import { factsFile, filesOf } from '../unpack/layer-folder.ts'
import type { LayerFacts } from '../unpack/tree-writer.ts'
import type { UnpackedLayer } from '../unpack/unpack-layer.ts'
import { fullName } from './image-names.ts'
import type { ImageRecord } from './image-record.ts'
import { mergeLayers } from './merge-layers.ts'
import type { StoreFolders } from './store-folders.ts'

/** An image whose layers are in the store, see {@link Loading.addLayer}. */
export interface CompleteImage {
  names: readonly ImageName[]
  config: ImageConfig
  configBlob: { digest: Digest; bytes: Uint8Array }
  manifestBlob?: { digest: Digest; bytes: Uint8Array }
  pulledBytes?: number
  byKubelet?: true
}

/** Collects what one process adds to a store. {@link end} removes what did not become part of it. */
export class Loading {
  readonly #folders: StoreFolders
  readonly #folder: string
  #made = 0

  constructor(folders: StoreFolders) {
    this.#folders = folders
    this.#folder = mkdtempSync(join(folders.loading, `${process.pid}-`))
    takeLock(join(this.#folder, 'lock'))
  }

  /** A place that does not exist yet. */
  newPlace(): string {
    this.#made += 1
    return join(this.#folder, String(this.#made))
  }

  hasLayer(diffId: Digest): boolean {
    return existsSync(this.#folders.layer(diffId))
  }

  /** Makes a layer part of the store. If it has the layer already, the new one is discarded. */
  addLayer({ diffId, folder }: UnpackedLayer): void {
    if (!this.hasLayer(diffId) && moved(folder, this.#folders.layer(diffId))) return
    rmSync(folder, { recursive: true, force: true })
  }

  discard({ folder }: Pick<UnpackedLayer, 'folder'>): void {
    rmSync(folder, { recursive: true, force: true })
  }

  /** Gives an image its names, which other images of these names lose. */
  addImage({ names, config, configBlob, manifestBlob, pulledBytes, byKubelet }: CompleteImage): ImageRecord[] {
    const layers = config.layers.map((diffId) => this.#layer(diffId))
    this.#merge(config.layers, layers)
    for (const blob of [configBlob, manifestBlob]) if (blob) this.#place(this.#folders.blob(blob.digest), blob.bytes)
    return names.map((name) => {
      const record: ImageRecord = {
        name: fullName(name),
        id: configBlob.digest,
        ...(manifestBlob && { digest: manifestBlob.digest }),
        config,
        ...(pulledBytes !== undefined && { pulledBytes }),
        ...(byKubelet && { byKubelet }),
        bytes: layers.reduce((sum, { facts }) => sum + facts.bytes, 0),
      }
      this.#place(this.#folders.record(record.name), JSON.stringify(record))
      return record
    })
  }

  end(): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }

  #layer(diffId: Digest): { files: string; facts: LayerFacts } {
    const folder = this.#folders.layer(diffId)
    if (!existsSync(folder)) throw new BadImage(`the layer ${diffId} is not there`)
    return { files: filesOf(folder), facts: JSON.parse(readFileSync(factsFile(folder), 'utf8')) as LayerFacts }
  }

  #merge(diffIds: readonly Digest[], layers: readonly { files: string; facts: LayerFacts }[]): void {
    const place = this.#folders.tree(diffIds)
    if (diffIds.length === 1 || existsSync(place)) return
    const root = this.newPlace()
    mergeLayers(layers, root)
    moved(root, place)
  }

  /** On the disk before it has its name: a machine that stops shows the file whole, or not at all. */
  #place(file: string, content: string | Uint8Array): void {
    const draft = this.newPlace()
    writeFileSync(draft, content, { mode: 0o600 })
    synced(draft)
    renameSync(draft, file)
    synced(dirname(file))
  }
}

/** Returns false if something is there already: another process was faster. */
function moved(folder: string, place: string): boolean {
  try {
    renameSync(folder, place)
    return true
  } catch (error) {
    if (['EEXIST', 'ENOTEMPTY'].includes((error as NodeJS.ErrnoException).code ?? '')) return false
    throw error
  }
}

function synced(path: string): void {
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
