import type { ObjectMeta } from '../../shared/api/types.ts'
import type { PersistentVolumeClaim } from '../../shared/api/volumes.ts'
import type { StatefulSet } from '../../shared/api/workloads/workloads.ts'
import type { TrimmedPod } from '../informers/trimmed-pod.ts'
import { REVISION_HASH_LABEL } from '../workloads/revision-history.ts'

const POD_NAME_LABEL = 'statefulset.kubernetes.io/pod-name'
const POD_INDEX_LABEL = 'apps.kubernetes.io/pod-index'

type Named = { metadata: Pick<ObjectMeta, 'name' | 'labels'> }

/** The number at the end of a pod's name; undefined for a name that no set gave. */
export function ordinalOf({ metadata }: Named, set: StatefulSet): number | undefined {
  const prefix = `${set.metadata.name}-`
  const { name = '' } = metadata
  const digits = name.startsWith(prefix) ? name.slice(prefix.length) : ''
  return /^\d+$/.test(digits) ? Number(digits) : undefined
}

/** The ordinals of the pods that there are to be, ascending. */
export function wantedOrdinals({ spec }: StatefulSet): number[] {
  const start = spec.ordinals?.start ?? 0
  return Array.from({ length: spec.replicas ?? 1 }, (_, index) => start + index)
}

/** Labels that a pod of the set has by its name. */
export const identityLabels = (name: string, ordinal: number): Record<string, string> => ({
  [POD_NAME_LABEL]: name,
  [POD_INDEX_LABEL]: String(ordinal),
})

/**
 * Gives a pod of the template its name, its place in the headless service, its claims, and its revision. Upstream:
 * newVersionedStatefulSetPod.
 */
export function identify(
  pod: TrimmedPod,
  set: StatefulSet,
  { ordinal, revision }: { ordinal: number; revision: string },
): void {
  const name = `${set.metadata.name}-${ordinal}`
  pod.metadata.name = name
  pod.metadata.labels = {
    ...pod.metadata.labels,
    ...identityLabels(name, ordinal),
    [REVISION_HASH_LABEL]: revision,
  }
  pod.spec.hostname = name
  pod.spec.subdomain = set.spec.serviceName
  const claims = claimsOf(set, ordinal)
  const volumes = [...claims].map(([volume, claim]) => ({
    name: volume,
    persistentVolumeClaim: { claimName: claim.metadata.name ?? '' },
  }))
  const others = (pod.spec.volumes ?? []).filter((volume) => !claims.has(volume.name))
  if (volumes.length + others.length > 0) pod.spec.volumes = [...volumes, ...others]
}

/** Returns the claims of one pod, keyed by the names of its volumes. Upstream: getPersistentVolumeClaims. */
export function claimsOf({ metadata, spec }: StatefulSet, ordinal: number): Map<string, PersistentVolumeClaim> {
  const templates = (spec.volumeClaimTemplates ?? []) as PersistentVolumeClaim[]
  return new Map(
    templates.map((template) => {
      const volume = template.metadata.name ?? ''
      const claim: PersistentVolumeClaim = {
        metadata: {
          ...template.metadata,
          name: `${volume}-${metadata.name}-${ordinal}`,
          namespace: metadata.namespace,
          labels: { ...template.metadata.labels, ...spec.selector?.matchLabels },
        },
        spec: template.spec,
      }
      return [volume, claim]
    }),
  )
}
