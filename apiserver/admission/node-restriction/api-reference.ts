import type { Pod } from '../../../shared/api/types.ts'
import { namesInPod } from '../../auth/pod-references.ts'

type Volume = NonNullable<Pod['spec']['volumes']>[number]
type Source = NonNullable<NonNullable<Volume['projected']>['sources']>[number]

/**
 * Returns the kind of API object that the pod refers to, in upstream's words; undefined if the pod refers to none.
 * Upstream: HasAPIObjectReference in pkg/api/pod/util.go.
 */
export function apiReference(pod: Pod): string | undefined {
  if (pod.spec.serviceAccountName) return 'serviceaccounts'
  for (const plural of ['secrets', 'configmaps']) if (namesInPod(pod, plural).length > 0) return plural
  if (pod.spec.resourceClaims?.length) return 'resourceclaims'
  for (const volume of pod.spec.volumes ?? []) {
    const reference = volumeReference(volume)
    if (reference !== undefined) return reference
  }
  return undefined
}

const volumeReferences: readonly (readonly [keyof Volume, string])[] = [
  ['configMap', 'configmaps (via configmap volumes)'],
  ['secret', 'secrets (via secret volumes)'],
  ['csi', 'csidrivers (via CSI volumes)'],
  ['glusterfs', 'endpoints (via glusterFS volumes)'],
  ['persistentVolumeClaim', 'persistentvolumeclaims'],
  ['ephemeral', 'persistentvolumeclaims (via ephemeral volumes)'],
  ['azureFile', 'secrets (via azureFile volumes)'],
]

const sourceReferences: readonly (readonly [keyof Source, string])[] = [
  ['configMap', 'configmaps (via projected volumes)'],
  ['secret', 'secrets (via projected volumes)'],
  ['serviceAccountToken', 'serviceaccounts (via projected volumes)'],
  ['clusterTrustBundle', 'clustertrustbundles'],
  ['podCertificate', 'podcertificates'],
]

function volumeReference(volume: Volume): string | undefined {
  const [, reference] = volumeReferences.find(([field]) => volume[field]) ?? []
  if (reference !== undefined) return reference
  for (const source of volume.projected?.sources ?? []) {
    const [, projected] = sourceReferences.find(([field]) => source[field]) ?? []
    if (projected !== undefined) return projected
  }
  return undefined
}
