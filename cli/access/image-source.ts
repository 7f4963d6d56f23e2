import { join } from 'node:path'
import type { KnownEntry } from '../../kubelet/runtime/images/image-entry.ts'
import type { ImageMeaning, OwnCommand } from '../../kubelet/runtime/images/image-meaning.ts'
import type { Origin } from '../../shared/config/resolve.ts'

/** An entry, and in words where it is from. */
export type ShownEntry = Omit<KnownEntry, 'origin'> & { origin: string }
export type ShownMeaning = Omit<ImageMeaning, 'entries'> & { entries: ShownEntry[] }

/** Answers what images stand for, from a running cluster or from a configuration. */
export interface ImageSource {
  entries(): Promise<ShownEntry[]>
  meaning(image: string, own: OwnCommand): Promise<ShownMeaning>
}

export interface ConfiguredImages {
  image: Record<string, string[]>
  imagePath: Record<string, string>
  imageStopSignal: Record<string, string>
}

/** Says for each option about images whether a flag, a variable or a config file set it. */
export type ImageOrigins = Record<keyof ConfiguredImages, Origin>

export const imageOrigins = ({ image, imagePath, imageStopSignal }: ImageOrigins): ImageOrigins => ({
  image,
  imagePath,
  imageStopSignal,
})

/** Replaces the origin `configuration` by the flag, variable or file that set the option, if `origins` are known. */
export function shownEntry(entry: KnownEntry, origins: ImageOrigins | undefined): ShownEntry {
  if (entry.origin !== 'configuration' || !origins) return entry
  return { ...entry, origin: origins[entry.command ? 'image' : entry.path ? 'imagePath' : 'imageStopSignal'] }
}

export const shownMeaning = (meaning: ImageMeaning, origins: ImageOrigins | undefined): ShownMeaning => ({
  ...meaning,
  entries: meaning.entries.map((entry) => shownEntry(entry, origins)),
})

/** Answers as `kubestage up` would with this configuration. */
export async function configuredImages(
  {
    image,
    imagePath,
    imageStopSignal,
    imageStore,
    stateDir,
  }: ConfiguredImages & { imageStore: string; stateDir: string },
  origins: ImageOrigins,
): Promise<ImageSource> {
  const { createImages } = await import('../../kubelet/runtime/images/images.ts')
  const { meaningOf } = await import('../../kubelet/runtime/images/image-meaning.ts')
  const { StoredImages } = await import('../../kubelet/images/stored-images.ts')
  const map = { commands: image, paths: imagePath, stopSignals: imageStopSignal }
  const images = createImages(map, new StoredImages(imageStore || join(stateDir, 'images')))
  return {
    entries: async () => images.entries().map((entry) => shownEntry(entry, origins)),
    meaning: async (name, own) => shownMeaning(meaningOf(images, name, own), origins),
  }
}
