import { BadImage } from '../bad-image.ts'
import { assertDigest, type Digest, digestOf } from '../digest.ts'
import { type Descriptor, type Manifest, readIndex, readManifest, readSavedImages } from '../documents.ts'
import { forThisPlatform, platformName, thisPlatform } from '../platform.ts'
import { blobName, type Contents } from './contents.ts'

/** An image that contents have, before its layers are looked at. */
export interface FoundImage {
  names: string[]
  /** Names the entry of the configuration within the contents, as the names of layers do. */
  config: string
  configDigest?: Digest
  layers: { name: string; digest?: Digest }[]
  manifest?: { digest: Digest; bytes: Uint8Array }
}

const oci = 'index.json'
const saved = 'manifest.json'
/** An index goes three levels deep at most, so that one within itself ends. */
const deepest = 3

/** Lists the images of an OCI layout or of an archive of `docker save`, which may be both. */
export async function imagesIn(contents: Contents): Promise<FoundImage[]> {
  const [index, list] = [await contents.document(oci), await contents.document(saved)]
  const fromDocker = list ? readSavedImages(list) : []
  if (!index) {
    if (fromDocker.length === 0)
      throw new BadImage(`${contents.what} is not an image: it has neither ${oci} nor ${saved}`)
    return fromDocker.map(({ config, names, layers }) => ({ names, config, layers: layers.map((name) => ({ name })) }))
  }
  const found: FoundImage[] = []
  for (const descriptor of ofEachName(readIndex(index, oci) ?? [])) found.push(await imageOf(contents, descriptor))
  for (const image of found)
    if (image.names.length === 0) image.names = fromDocker.find(({ config }) => config === image.config)?.names ?? []
  return found
}

/** Images of several platforms may stand side by side: of those with one name, this machine's counts. */
function ofEachName(all: Descriptor[]): Descriptor[] {
  const byName = Map.groupBy(all, ({ annotations }) => nameIn(annotations) ?? '')
  return [...byName.values()].map((some) => forThisPlatform(some) ?? wrongPlatform(some))
}

async function imageOf(contents: Contents, descriptor: Descriptor): Promise<FoundImage> {
  const name = nameIn(descriptor.annotations)
  const { bytes, digest, manifest } = await manifestOf(contents, descriptor)
  return {
    names: name ? [name] : [],
    config: blobName(manifest.config.digest),
    configDigest: manifest.config.digest,
    layers: manifest.layers.map((layer) => ({ name: blobName(layer.digest), digest: layer.digest })),
    manifest: { digest, bytes },
  }
}

/** Follows indexes to the manifest of this machine's platform. */
export async function manifestOf(
  contents: Contents,
  { digest }: Pick<Descriptor, 'digest'>,
  depth = 0,
): Promise<{ digest: Digest; bytes: Uint8Array; manifest: Manifest }> {
  const bytes = await contents.document(blobName(digest))
  if (!bytes) throw new BadImage(`${contents.what} lacks the manifest ${digest}`)
  assertDigest(digestOf(bytes), digest, 'the manifest')
  const list = readIndex(bytes, `the manifest ${digest}`)
  if (!list) return { digest, bytes, manifest: readManifest(bytes, `the manifest ${digest}`) }
  if (depth === deepest) throw new BadImage(`${contents.what} has an index within an index too often`)
  return manifestOf(contents, forThisPlatform(list) ?? wrongPlatform(list), depth + 1)
}

function wrongPlatform(all: readonly Descriptor[]): never {
  const has = all.map(({ platform }) => platformName(platform ?? {})).join(', ')
  throw new BadImage(`no match for platform ${platformName(thisPlatform)}: the image is for ${has || 'none'}`)
}

/** containerd's annotation has the full name; the standard's may be a tag alone, which names nothing. */
function nameIn(annotations: Record<string, string>): string | undefined {
  const full = annotations['io.containerd.image.name']
  const named = annotations['org.opencontainers.image.ref.name']
  return full ?? (named && /[/:]/.test(named) ? named : undefined)
}
