import { createHash, type Hash } from 'node:crypto'
import { BadImage, shown } from './bad-image.ts'

/** A digest of an image's parts: `sha256:` and 64 hex digits. */
export type Digest = `sha256:${string}`

const pattern = /^sha256:[0-9a-f]{64}$/

/** Throws {@link BadImage} for anything but a digest by SHA-256, the one that every registry has. */
export function readDigest(value: unknown, what: string): Digest {
  if (typeof value === 'string' && pattern.test(value)) return value as Digest
  throw new BadImage(`${what} has the digest ${shown(String(value))}; only sha256 digests are known`)
}

export const hexOf = (digest: Digest): string => digest.slice('sha256:'.length)
export const digestOf = (bytes: string | Uint8Array): Digest => finished(createHash('sha256').update(bytes))
export const finished = (hash: Hash): Digest => `sha256:${hash.digest('hex')}`

export function assertDigest(found: Digest, wanted: Digest, what: string): void {
  if (found !== wanted) throw new BadImage(`${what} is damaged: its digest is ${found}, not ${wanted}`)
}
