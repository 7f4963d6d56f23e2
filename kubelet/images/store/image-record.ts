import type { Digest } from '../digest.ts'
import type { ImageConfig } from '../documents.ts'

/** An image as the store keeps it under a name: all that starting a container needs, in one small file. */
export interface ImageRecord {
  /** Holds the name with registry and tag or digest: `docker.io/library/nginx:1.29`. */
  name: string
  /** Holds the digest of the image's configuration. */
  id: Digest
  /** Digest of its manifest, where it came with one; a registry knows the image by it. */
  digest?: Digest
  config: ImageConfig
  /** Counts the bytes that came from a registry: configuration and packed layers. Absent if the image was loaded. */
  pulledBytes?: number
  /** A kubelet has pulled it, maybe with the secret of a pod. */
  byKubelet?: true
  /** Bytes of all layers, unpacked. */
  bytes: number
}
