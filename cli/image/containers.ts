import type { OwnCommand } from '../../kubelet/runtime/images/image-meaning.ts'
import type { Container, KubeObject, PodSpec } from '../../shared/api/types.ts'
import { readManifests } from '../rehearse/manifests.ts'

export interface NamedContainer {
  /** `Deployment/web` */
  object: string
  container: string
  image: string
  own: OwnCommand
  /** Mount paths of volumes; a volume may contain any file. */
  mounts: string[]
}

/** Returns all containers of the pods that the manifests describe, of any kind that makes pods. */
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

/** Returns whether the file lies on a mounted volume, or may. */
export const isMounted = (mounts: readonly string[], file: string): boolean =>
  mounts.some((mount) => `${file}/`.startsWith(mount.endsWith('/') ? mount : `${mount}/`))

/** Returns the pod spec of a Pod, of a template, or of a CronJob's job template. */
function podSpecOf(object: KubeObject): Partial<PodSpec> | undefined {
  const spec = object.spec as
    | { template?: { spec?: PodSpec }; jobTemplate?: { spec?: { template?: { spec?: PodSpec } } } }
    | undefined
  if (object.kind === 'Pod') return spec as PodSpec | undefined
  return spec?.template?.spec ?? spec?.jobTemplate?.spec?.template?.spec
}
