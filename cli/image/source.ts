import type { KnownEntry } from '../../kubelet/runtime/images/image-entry.ts'
import type { ImageMeaning, OwnCommand } from '../../kubelet/runtime/images/image-meaning.ts'
import type { Origin } from '../../shared/config/resolve.ts'

/** An entry, and in words where it is from. */
export type ShownEntry = Omit<KnownEntry, 'origin'> & { origin: string }
export type ShownMeaning = Omit<ImageMeaning, 'entries'> & { entries: ShownEntry[] }

/** The source of image mappings: a running cluster, or a configuration. */
export interface ImageSource {
  entries(): Promise<ShownEntry[]>
  meaning(image: string, own: OwnCommand): Promise<ShownMeaning>
}

export interface ConfiguredImages {
  image: Record<string, string[]>
  imagePath: Record<string, string>
  imageStopSignal: Record<string, string>
}

/** Whether flags, variables or a config file said what images stand for. */
export type ImageOrigins = Record<keyof ConfiguredImages, Origin>

export const imageOrigins = ({ image, imagePath, imageStopSignal }: ImageOrigins): ImageOrigins => ({
  image,
  imagePath,
  imageStopSignal,
})

/** Of a configured entry, `origins` tell more. */
export function shownEntry(entry: KnownEntry, origins: ImageOrigins | undefined): ShownEntry {
  if (entry.origin !== 'configuration' || !origins) return entry
  return { ...entry, origin: origins[entry.command ? 'image' : entry.path ? 'imagePath' : 'imageStopSignal'] }
}

export const shownMeaning = (meaning: ImageMeaning, origins: ImageOrigins | undefined): ShownMeaning => ({
  ...meaning,
  entries: meaning.entries.map((entry) => shownEntry(entry, origins)),
})

/** What `kubestage up` would make of this configuration. */
export async function configuredImages(
  { image, imagePath, imageStopSignal }: ConfiguredImages,
  origins: ImageOrigins,
): Promise<ImageSource> {
  const { createImages } = await import('../../kubelet/runtime/images/images.ts')
  const { meaningOf } = await import('../../kubelet/runtime/images/image-meaning.ts')
  const images = createImages({ commands: image, paths: imagePath, stopSignals: imageStopSignal })
  return {
    entries: async () => images.entries().map((entry) => shownEntry(entry, origins)),
    meaning: async (name, own) => shownMeaning(meaningOf(images, name, own), origins),
  }
}
