import type { ReplicaSet } from '../../shared/api/workloads.ts'

const REVISION = 'deployment.kubernetes.io/revision'

/**
 * Why pods of the set are deleted: `Update` when a set of the same owner has followed it, and `Decommissioned`
 * when there are simply to be fewer. The reasons are those of the Pod Termination Reason proposal.
 */
export function reasonToShrink(set: ReplicaSet, siblings: readonly ReplicaSet[]): 'Update' | 'Decommissioned' {
  const revision = revisionOf(set)
  return siblings.some((sibling) => revisionOf(sibling) > revision) ? 'Update' : 'Decommissioned'
}

const revisionOf = ({ metadata }: ReplicaSet): number => Number(metadata.annotations?.[REVISION] ?? 0)
