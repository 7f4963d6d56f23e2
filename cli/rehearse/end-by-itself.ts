import { hasEnded } from '../../shared/api/pods/pod-phase.ts'
import type { Pod } from '../../shared/api/types.ts'
import { WITNESS } from './verdict/witness.ts'

/** Exit codes of the pod's own containers; undefined for one that runs, or has not begun. */
function exitCodes({ status }: Pod): (number | undefined)[] {
  const own = (status?.containerStatuses ?? []).filter(({ name }) => name !== WITNESS)
  return own.map(({ state }) => state?.terminated?.exitCode)
}

/** Returns whether no container of the pod will run again; the witness may still be running. */
export function isOver(pod: Pod): boolean {
  const { spec } = pod
  if (hasEnded(pod)) return true
  const codes = exitCodes(pod)
  if (codes.length === 0 || codes.includes(undefined)) return false
  return spec.restartPolicy === 'Never' || (spec.restartPolicy === 'OnFailure' && codes.every((code) => code === 0))
}

/** Over, and all went well. */
export const hasSucceeded = (pod: Pod): boolean =>
  pod.status?.phase !== 'Failed' && isOver(pod) && exitCodes(pod).every((code) => code === 0)
