import { hasEnded } from '../../../../shared/api/pods/pod-phase.ts'
import type { DeleteOptions, Pod } from '../../../../shared/api/types.ts'

/** Returns how many seconds a pod may go on running after its first delete; 0 if the pod has no node or has ended. */
export function gracePeriodSeconds(pod: Pod, options: DeleteOptions): number {
  const { spec } = pod
  const asked = options.gracePeriodSeconds ?? spec.terminationGracePeriodSeconds ?? 0
  if (!spec.nodeName || hasEnded(pod)) return 0
  return asked < 0 ? 1 : asked
}
