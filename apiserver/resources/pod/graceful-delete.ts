import { hasEnded } from '../../../shared/api/pod-phase.ts'
import type { DeleteOptions, Pod } from '../../../shared/api/types.ts'

/** How long a pod may live on after its first delete; one that runs nowhere goes at once. */
export function gracePeriodSeconds(pod: Pod, options: DeleteOptions): number {
  const { spec } = pod
  const asked = options.gracePeriodSeconds ?? spec.terminationGracePeriodSeconds ?? 0
  if (!spec.nodeName || hasEnded(pod)) return 0
  return asked < 0 ? 1 : asked
}
