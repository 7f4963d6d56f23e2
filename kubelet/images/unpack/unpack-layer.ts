import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { BadImage } from '../bad-image.ts'
import { type Chunks, seen } from '../chunks.ts'
import { type Digest, finished } from '../digest.ts'
import { type ImageLimits, imageLimits } from '../limits.ts'
import { decompressed } from './decompress.ts'
import { eachEntry } from './entries.ts'
import { factsFile, filesOf } from './layer-folder.ts'
import { type LayerFacts, TreeWriter } from './tree-writer.ts'

export interface UnpackedLayer extends LayerFacts {
  folder: string
  /** Holds the digest of the archive as it came; `diffId` is that of the archive without compression. */
  digest: Digest
  diffId: Digest
}

/** Unpacks a layer's archive into a new folder. Throws {@link BadImage}; the caller then removes the folder. */
export async function unpackLayer(
  blob: Chunks,
  folder: string,
  { what = 'a layer', limits = imageLimits }: { what?: string; limits?: ImageLimits } = {},
): Promise<UnpackedLayer> {
  mkdirSync(folder, { mode: 0o700 })
  const packed = new Meter()
  const unpacked = new Meter()
  const archive = await decompressed(packed.over(blob), what)
  // What was not compressed has one digest, which is not computed twice.
  if (!archive.wasPacked) packed.rest()
  const chunks = unpacked.over(archive.chunks, () => {
    if (unpacked.bytes > limits.ratioFrom && unpacked.bytes > packed.bytes * limits.ratio)
      throw new BadImage(`${what} unpacks to more than ${limits.ratio} times its size`)
  })
  const tree = new TreeWriter(filesOf(folder), limits)
  await eachEntry(chunks, what, (header, content) => tree.add(header, content))
  const facts = tree.finish()
  writeFileSync(factsFile(folder), JSON.stringify(facts), { mode: 0o600 })
  const diffId = unpacked.digest()
  return { ...facts, folder, digest: archive.wasPacked ? packed.digest() : diffId, diffId }
}

/** Counts bytes, and computes their digest. */
class Meter {
  bytes = 0
  readonly #hash = createHash('sha256')
  #rests = false

  over(chunks: Chunks, check = () => {}): Chunks {
    return seen(chunks, (chunk) => {
      this.bytes += chunk.length
      if (!this.#rests) this.#hash.update(chunk)
      check()
    })
  }

  /** Counts only bytes from now on. */
  rest(): void {
    this.#rests = true
  }

  digest(): Digest {
    return finished(this.#hash)
  }
}
