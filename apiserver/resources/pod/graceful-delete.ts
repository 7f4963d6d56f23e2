import type { DeleteOptions, Pod } from '../../../shared/api/types.ts'

/** How long a pod may live on after its first delete; one that runs nowhere goes at once. */
export function gracePeriodSeconds({ spec, status }: Pod, options: DeleteOptions): number {
  const asked = options.gracePeriodSeconds ?? spec.terminationGracePeriodSeconds ?? 0
  if (!spec.nodeName || status?.phase === 'Failed' || status?.phase === 'Succeeded') return 0
  return asked < 0 ? 1 : asked
}
