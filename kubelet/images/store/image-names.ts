import { ImageError } from '../../runtime/container-runtime.ts'
import { type ImageName, parseImageName } from '../../runtime/images/image-name.ts'
import { BadImage } from '../bad-image.ts'

/** `docker.io/library/nginx:1.29`, `docker.io/library/nginx@sha256:…`: every name of one image reads the same. */
export function fullName({ domain, repository, tag, digest }: ImageName): string {
  const place = `${domain}/${repository}`
  return digest ? `${place}@${digest}` : `${place}:${tag ?? 'latest'}`
}

/** Throws {@link BadImage} for what is no name of an image. */
export function readName(name: string): ImageName {
  try {
    return parseImageName(name)
  } catch (error) {
    throw error instanceof ImageError ? new BadImage(`"${name}" is not the name of an image`) : error
  }
}
