import type { Digest } from '../digest.ts'

/** Gives the parts of images by their names, from an archive, a folder, or a registry. */
export interface Contents {
  /** Names the whole, for messages. */
  readonly what: string
  /** A manifest, an index or a configuration; undefined if there is none of the name. */
  document(name: string): Promise<Uint8Array | undefined>
  /** Sees to it that the store has a layer. Throws {@link BadImage} if there is none, or another one. */
  layer(name: string, wanted: { diffId: Digest; digest?: Digest }): Promise<void>
}

/** Returns the place of a part in an OCI layout. */
export const blobName = (digest: Digest): string => `blobs/${digest.replace(':', '/')}`
