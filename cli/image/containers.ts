import type { OwnCommand } from '../../kubelet/runtime/images/image-meaning.ts'
import type { Container, KubeObject, PodSpec } from '../../shared/api/types.ts'
import { readManifests } from '../rehearse/manifests.ts'

export interface NamedContainer {
  /** `Deployment/web` */
  object: string
  container: string
  image: string
  own: OwnCommand
  /** Where volumes are mounted, which may have any file. */
  mounts: string[]
}

/** All containers of the pods that manifests speak of, whatever makes the pods. */
export async function containersOf(files: readonly string[]): Promise<NamedContainer[]> {
  const manifests = await readManifests(files)
  return manifests.flatMap(({ object }) => {
    const spec = podSpecOf(object)
    const containers: Container[] = [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])]
    return containers.map(({ name, image = '', command, args, workingDir, volumeMounts = [] }) => ({
      object: `${object.kind}/${object.metadata.name}`,
      container: name,
      image,
      own: { command, args, workingDir },
      mounts: volumeMounts.map(({ mountPath }) => mountPath),
    }))
  })
}

/** Whether a file is, or may be, in a volume. */
export const isMounted = (mounts: readonly string[], file: string): boolean =>
  mounts.some((mount) => `${file}/`.startsWith(mount.endsWith('/') ? mount : `${mount}/`))

/** A Pod's own, a template's, or that of a CronJob's template's template. */
function podSpecOf(object: KubeObject): Partial<PodSpec> | undefined {
  const spec = object.spec as
    | { template?: { spec?: PodSpec }; jobTemplate?: { spec?: { template?: { spec?: PodSpec } } } }
    | undefined
  if (object.kind === 'Pod') return spec as PodSpec | undefined
  return spec?.template?.spec ?? spec?.jobTemplate?.spec?.template?.spec
}
