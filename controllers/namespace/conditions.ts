import { toTime } from '../../shared/clock/timestamp.ts'
import type { Condition } from '../workloads/conditions.ts'
import type { RemainingContent } from './content.ts'

/**
 * The conditions of a terminating namespace, in upstream's words; those already there keep their time while they say
 * the same.
 */
export function terminatingConditions(
  current: readonly Condition[],
  remaining: RemainingContent,
  nowMs: number,
): Condition[] {
  return wanted(remaining).map((condition) => {
    const old = current.find(({ type }) => type === condition.type)
    const unchanged =
      old?.status === condition.status && old.reason === condition.reason && old.message === condition.message
    return unchanged ? old : { ...condition, lastTransitionTime: toTime(nowMs) }
  })
}

function wanted({ resources, finalizers, errors }: RemainingContent): Condition[] {
  const instances = (counts: Map<string, number>, joint: string): string =>
    [...counts]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([what, n]) => `${what} ${joint} ${n} resource instances`)
      .join(', ')
  return [
    condition('NamespaceDeletionDiscoveryFailure', {
      ok: { reason: 'ResourcesDiscovered', message: 'All resources successfully discovered' },
    }),
    condition('NamespaceDeletionGroupVersionParsingFailure', {
      ok: { reason: 'ParsedGroupVersions', message: 'All legacy kube types successfully parsed' },
    }),
    condition('NamespaceDeletionContentFailure', {
      ok: { reason: 'ContentDeleted', message: 'All content successfully deleted, may be waiting on finalization' },
      problem: errors.length > 0 && {
        reason: 'ContentDeletionFailed',
        message: `Failed to delete all resource types, ${errors.length} remaining: ${errors.sort().join(', ')}`,
      },
    }),
    condition('NamespaceContentRemaining', {
      ok: { reason: 'ContentRemoved', message: 'All content successfully removed' },
      problem: resources.size > 0 && {
        reason: 'SomeResourcesRemain',
        message: `Some resources are remaining: ${instances(resources, 'has')}`,
      },
    }),
    condition('NamespaceFinalizersRemaining', {
      ok: { reason: 'ContentHasNoFinalizers', message: 'All content-preserving finalizers finished' },
      problem: finalizers.size > 0 && {
        reason: 'SomeFinalizersRemain',
        message: `Some content in the namespace has finalizers remaining: ${instances(finalizers, 'in')}`,
      },
    }),
  ]
}

interface Words {
  reason: string
  message: string
}
const condition = (type: string, { ok, problem }: { ok: Words; problem?: Words | false }): Condition =>
  problem ? { type, status: 'True', ...problem } : { type, status: 'False', ...ok }
