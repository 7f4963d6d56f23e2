import { createReadStream, statSync } from 'node:fs'
import { BadImage } from '../bad-image.ts'
import type { Chunks } from '../chunks.ts'
import { assertDigest, digestOf } from '../digest.ts'
import { readConfig } from '../documents.ts'
import { platformName, thisPlatform } from '../platform.ts'
import { readName } from '../store/image-names.ts'
import type { ImageRecord } from '../store/image-record.ts'
import type { ImageStore } from '../store/image-store.ts'
import type { Loading } from '../store/loading.ts'
import { readArchive } from './archive-contents.ts'
import type { Contents } from './contents.ts'
import { FolderContents } from './folder-contents.ts'
import { type FoundImage, imagesIn } from './images-in.ts'

/**
 * Loads all images of a file or a folder: an archive of `docker save`, or an OCI layout. `name` names an image that has
 * no name there. Throws {@link BadImage}; the store is then as it was.
 */
export async function loadImages(
  store: ImageStore,
  source: string | Chunks,
  { name }: { name?: string } = {},
): Promise<ImageRecord[]> {
  const loading = await store.begin()
  try {
    const contents = await open(source, loading)
    const found = await imagesIn(contents)
    if (name && found.length !== 1)
      throw new BadImage(`${contents.what} has ${found.length} images; a name can be given to one alone`)
    const complete = []
    for (const image of found) complete.push(await completed(contents, name ? { ...image, names: [name] } : image))
    return complete.flatMap((image) => loading.addImage(image))
  } finally {
    loading.end()
  }
}

async function open(source: string | Chunks, loading: Loading): Promise<Contents> {
  if (typeof source !== 'string') return readArchive(source, loading, 'standard input')
  if (statSync(source).isDirectory()) return new FolderContents(source, loading)
  return readArchive(createReadStream(source, { highWaterMark: 1 << 20 }), loading, source)
}

/** Sees to it that the store has all layers of an image. */
export async function completed(
  contents: Contents,
  { names, config: place, configDigest, layers, manifest }: FoundImage,
) {
  if (names.length === 0) throw new BadImage(`${contents.what} does not name its image; name it: image load FILE NAME`)
  const imageNames = names.map(readName)
  const bytes = await contents.document(place)
  if (!bytes) throw new BadImage(`${contents.what} lacks the configuration ${place}`)
  const digest = digestOf(bytes)
  if (configDigest) assertDigest(digest, configDigest, `the configuration ${place}`)
  const config = readConfig(bytes, `the configuration ${place}`)
  const { os = thisPlatform.os, architecture = thisPlatform.architecture } = config.platform
  if (os !== thisPlatform.os || architecture !== thisPlatform.architecture)
    throw new BadImage(
      `no match for platform ${platformName(thisPlatform)}: the image is for ${platformName(config.platform)}`,
    )
  if (layers.length !== config.layers.length)
    throw new BadImage(`the image has ${layers.length} layers; its configuration says ${config.layers.length}`)
  const wanted = layers.map(({ name, digest }, index) =>
    contents.layer(name, { diffId: config.layers[index]!, digest }),
  )
  // All have ended when the first error is thrown: none writes into a folder that is being removed.
  for (const { status, ...result } of await Promise.allSettled(wanted))
    if (status === 'rejected') throw (result as PromiseRejectedResult).reason
  return { names: imageNames, config, configBlob: { digest, bytes }, manifestBlob: manifest }
}
