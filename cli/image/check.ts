import type { ImageSource, ShownMeaning } from '../access/image-source.ts'
import { containersOf, isMounted, type NamedContainer } from './containers.ts'

export type CheckedContainer = Pick<NamedContainer, 'object' | 'container'> & ShownMeaning

/**
 * Returns for each container of the manifests what it would run, and whether that program exists. Files that a volume
 * may contain are taken to exist.
 */
export async function checkContainers(files: readonly string[], source: ImageSource): Promise<CheckedContainer[]> {
  const containers = await containersOf(files)
  return await Promise.all(
    containers.map(async ({ object, container, image, own, mounts }) => ({
      object,
      container,
      ...withMounts(await source.meaning(image, own), mounts),
    })),
  )
}

function withMounts({ missing = [], problem, ...meaning }: ShownMeaning, mounts: readonly string[]): ShownMeaning {
  const absent = missing.filter((file) => !isMounted(mounts, file))
  const [program = ''] = meaning.command
  const isInVolume = problem?.reason === 'RunContainerError' && isMounted(mounts, program)
  return {
    ...meaning,
    ...(isInVolume && { program }),
    ...(absent.length > 0 && { missing: absent }),
    ...(problem && !isInVolume && { problem }),
  }
}
