import { claimNames } from '../../shared/api/pods/pod-claims.ts'
import type { PersistentVolumeClaim } from '../../shared/api/volumes.ts'
import type { Informer } from '../../shared/client/informer.ts'
import type { TrimmedPod } from '../informers/trimmed-pod.ts'

/**
 * Returns why the pod's claims rule out every node, in upstream's words; undefined if they do not. Upstream:
 * pkg/scheduler/framework/plugins/volumebinding.
 */
export function claimsProblem(
  pod: TrimmedPod,
  claims: Pick<Informer<PersistentVolumeClaim>, 'get'>,
): string | undefined {
  const { namespace } = pod.metadata
  let isUnbound = false
  for (const name of claimNames(pod)) {
    const claim = claims.get({ namespace, name })
    if (!claim) return `persistentvolumeclaim "${name}" not found`
    if (claim.metadata.deletionTimestamp) return `persistentvolumeclaim "${name}" is being deleted`
    if (claim.status?.phase === 'Lost')
      return `persistentvolumeclaim "${name}" bound to non-existent persistentvolume "${claim.spec?.volumeName}"`
    isUnbound ||= !isBound(claim)
  }
  return isUnbound ? 'pod has unbound immediate PersistentVolumeClaims' : undefined
}

export const isBound = ({ status }: PersistentVolumeClaim): boolean => status?.phase === 'Bound'
