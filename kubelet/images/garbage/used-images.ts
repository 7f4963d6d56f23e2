import type { Pod } from '../../../shared/api/types.ts'
import type { ContainerRuntime } from '../../runtime/container-runtime.ts'
import type { ImageService } from '../../runtime/image-service.ts'

/** Returns the IDs of images that containers, running or ended, and image volumes of pods use. */
export async function usedImages(
  images: ImageService,
  runtime: Pick<ContainerRuntime, 'list'>,
  pods: Iterable<Pod>,
): Promise<Set<string>> {
  const [all, { containers }] = await Promise.all([images.list(), runtime.list()])
  const shown = new Set(containers.map(({ imageId }) => imageId))
  const used = all.filter(({ id, repoDigests }) => [id, ...repoDigests].some((name) => shown.has(name)))
  const volumes = [...pods].flatMap(({ spec }) => (spec.volumes ?? []).flatMap(({ image }) => image?.reference ?? []))
  return new Set([...used.map(({ id }) => id), ...volumes.flatMap((reference) => images.idOf(reference) ?? [])])
}
