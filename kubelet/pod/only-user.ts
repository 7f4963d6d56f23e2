import type { Pod } from '../../shared/api/types.ts'
import { allContainers } from './container-kinds.ts'

/**
 * The one user of all the pod's containers, if there is one: its tokens are that user's. Upstream: pkg/volume/util
 * FsUserFrom.
 */
export function onlyUserOf(pod: Pod): number | undefined {
  const users = new Set(
    allContainers(pod.spec).map(
      ({ securityContext }) => securityContext?.runAsUser ?? pod.spec.securityContext?.runAsUser,
    ),
  )
  return users.size === 1 ? [...users][0] : undefined
}
