import type { Pod } from '../../../../shared/api/types.ts'

/** Keeps the observed generations that a write of the status leaves out. Upstream: preserveOldObservedGeneration. */
export function keepObservedGenerations({ status }: Pod, old: Pod): void {
  if (!status || !old.status) return
  if (!status.observedGeneration && old.status.observedGeneration)
    status.observedGeneration = old.status.observedGeneration
  // A list for each type: conditions of one type may be there twice.
  const known = Map.groupBy(old.status.conditions ?? [], ({ type }) => type)
  for (const condition of status.conditions ?? []) {
    const observed = known.get(condition.type)?.shift()?.observedGeneration
    if (!condition.observedGeneration && observed) condition.observedGeneration = observed
  }
}
