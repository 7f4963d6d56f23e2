import { BadImage } from '../bad-image.ts'
import { assertDigest, type Digest } from '../digest.ts'
import type { Loading } from '../store/loading.ts'
import type { UnpackedLayer } from '../unpack/unpack-layer.ts'

/** Makes an unpacked layer part of the store if it is the wanted one. */
export function addChecked(
  loading: Loading,
  layer: UnpackedLayer,
  { name, diffId, digest }: { name: string; diffId: Digest; digest?: Digest },
): void {
  if (digest) assertDigest(layer.digest, digest, `the layer ${name}`)
  if (layer.diffId !== diffId)
    throw new BadImage(`the layer ${name} unpacks to ${layer.diffId}; the configuration of the image says ${diffId}`)
  loading.addLayer(layer)
}
