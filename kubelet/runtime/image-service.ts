/** An image that this machine keeps, with all its names. */
export interface KeptImage {
  /** Holds the digest of its configuration. */
  id: string
  /** Lists names with a digest, such as `docker.io/library/nginx@sha256:…`. */
  repoDigests: string[]
  /** Lists names with a tag, such as `docker.io/library/nginx:1.29`. */
  repoTags: string[]
  sizeBytes: number
  /** The image is never garbage collected. */
  pinned: boolean
}

/** Lists and removes the images that this machine keeps. */
export interface ImageService {
  /** Names the folder, whose file system fills with images. It may not exist yet. */
  readonly folder: string
  list(): Promise<readonly KeptImage[]>
  /** Returns the ID of the image that a pod means by a reference; undefined if it is not there. */
  idOf(reference: string): string | undefined
  /**
   * Removes an image and all its names. Resolves to false if a program of this machine uses its files, which the image
   * then keeps.
   */
  remove(id: string): Promise<boolean>
}
