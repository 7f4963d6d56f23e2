import type { KnownEntry } from '../../kubelet/runtime/images/image-entry.ts'
import type { ImageMeaning } from '../../kubelet/runtime/images/image-meaning.ts'
import type { Origin } from '../../shared/config/resolve.ts'

/** An entry, and in words where it is from. */
export type ShownEntry = Omit<KnownEntry, 'origin'> & { origin: string }

/** Who knows what images stand for: a cluster that runs, or a configuration. */
export interface ImageSource {
  entries(): Promise<ShownEntry[]>
  meaning(image: string, command: readonly string[]): Promise<ImageMeaning>
}

export interface ConfiguredImages {
  image: Record<string, string[]>
  imagePath: Record<string, string>
  imageStopSignal: Record<string, string>
}

/** What `kubestage up` would make of this configuration. */
export async function configuredImages(
  { image, imagePath, imageStopSignal }: ConfiguredImages,
  origins: Record<keyof ConfiguredImages, Origin>,
): Promise<ImageSource> {
  const { createImages } = await import('../../kubelet/runtime/images/images.ts')
  const { meaningOf } = await import('../../kubelet/runtime/images/image-meaning.ts')
  const images = createImages({ commands: image, paths: imagePath, stopSignals: imageStopSignal })
  const originOf = ({ command, path }: ShownEntry): Origin =>
    origins[command ? 'image' : path ? 'imagePath' : 'imageStopSignal']
  return {
    entries: async () =>
      images.entries().map((entry) => (entry.origin === 'built in' ? entry : { ...entry, origin: originOf(entry) })),
    meaning: async (name, command) => meaningOf(images, name, command),
  }
}
