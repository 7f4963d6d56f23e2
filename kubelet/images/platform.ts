import type { Descriptor, Platform } from './documents.ts'

const architectures: Partial<Record<NodeJS.Architecture, string>> = { x64: 'amd64', ia32: '386', ppc64: 'ppc64le' }

/** The platform of images that this machine runs, in Go's words. */
export const thisPlatform: Platform = { os: 'linux', architecture: architectures[process.arch] ?? process.arch }

export const platformName = ({ os, architecture, variant }: Partial<Platform>): string =>
  [os, architecture, variant].filter(Boolean).join('/')

/**
 * Picks from an index what this machine runs. A descriptor without a platform fits. Of several variants of a processor
 * the last one counts, which is the newest where all are listed.
 */
export function forThisPlatform(all: readonly Descriptor[], wanted = thisPlatform): Descriptor | undefined {
  const fits = ({ platform }: Descriptor): boolean =>
    !platform || (platform.os === wanted.os && platform.architecture === wanted.architecture)
  const variants = all.filter(fits)
  return variants.findLast(({ platform }) => !wanted.variant || platform?.variant === wanted.variant)
}
