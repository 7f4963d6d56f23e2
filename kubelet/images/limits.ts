/** Bounds what an image may take: an image that someone else made cannot fill the disk or the memory of its user. */
export interface ImageLimits {
  layers: number
  /** Files, folders and links of one layer. */
  entries: number
  /** Bytes of one layer when it is unpacked. */
  bytes: number
  /** Limits the bytes of all extended attributes of one layer. */
  attributeBytes: number
  /** Bytes that a compressed byte may become, on average. */
  ratio: number
  /** The ratio counts from so many unpacked bytes on. */
  ratioFrom: number
  /** Limits the bytes of a manifest, an index or a configuration. Registries take 4 MiB. */
  documentBytes: number
  /** Limits the bytes of all of these in one archive. */
  allDocumentBytes: number
}

const MiB = 2 ** 20

export const imageLimits: ImageLimits = {
  layers: 500,
  entries: 2_000_000,
  bytes: 64 * 1024 * MiB,
  attributeBytes: 16 * MiB,
  ratio: 200,
  ratioFrom: 512 * MiB,
  documentBytes: 4 * MiB,
  allDocumentBytes: 64 * MiB,
}
