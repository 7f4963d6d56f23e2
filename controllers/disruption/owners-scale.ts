import { ignoreNotFound } from '../../shared/api/status/status-error.ts'
import type { KubeObject } from '../../shared/api/types.ts'
import type { Client } from '../../shared/client/client.ts'
import { type ApiResource, type ApiResources, resourceOfKind } from '../controller.ts'
import { controllerOf, type OwnerReference } from '../informers/ownership.ts'
import type { TrimmedPod } from '../informers/trimmed-pod.ts'

interface Scale {
  uid: string
  replicas: number
}
export interface OwnersScale {
  /** Replicas that the controllers of the pods want together. */
  scale: number
  /** Pods without an owner. */
  unmanaged: TrimmedPod[]
}

/** Asks the controllers of pods how many they want. Throws, as upstream, for one that cannot tell. */
export async function ownersScale(
  pods: readonly TrimmedPod[],
  { client, resources }: { client: Client; resources: ApiResources },
): Promise<OwnersScale> {
  const scales = new Map<string, number>()
  const asked = new Set<string>()
  for (const { metadata } of pods) {
    const owner = controllerOf(metadata)
    if (owner && asked.has(owner.uid)) continue
    if (owner) asked.add(owner.uid)
    const found = owner && (await scaleOf(owner, metadata.namespace ?? ''))
    if (owner && !found) throw new Error(`found no controllers for pod ${JSON.stringify(metadata.name)}`)
    if (found) scales.set(found.uid, found.replicas)
  }
  return {
    scale: [...scales.values()].reduce((sum, replicas) => sum + replicas, 0),
    unmanaged: pods.filter(({ metadata }) => !controllerOf(metadata)),
  }

  /** Returns the scale of the owner; for a ReplicaSet of a Deployment, that of the Deployment. */
  async function scaleOf(
    { apiVersion, kind, name, uid }: OwnerReference,
    namespace: string,
  ): Promise<Scale | undefined> {
    const resource = resourceOfKind(resources, { apiVersion, kind })
    if (!resource) return undefined
    const replicas = replicasOf(resource)
    const object = await client.get(resource, { namespace, name }).catch(ignoreNotFound)
    if (object?.metadata.uid !== uid) return undefined
    const parent = controllerOf(object.metadata)
    if (kind === 'ReplicaSet' && parent?.kind === 'Deployment') return scaleOf(parent, namespace)
    return { uid, replicas: replicas(object) ?? 0 }
  }
}

/** Returns a function that reads the wanted number from an object of the kind. */
function replicasOf({ group, plural, subresources, custom }: ApiResource) {
  if (custom?.scale) return custom.scale.specReplicas
  if (subresources?.scale) return ({ spec }: KubeObject & { spec?: { replicas?: number } }) => spec?.replicas
  throw new Error(`${plural}.${group} does not implement the scale subresource`)
}
