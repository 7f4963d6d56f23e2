import type { DeleteOptions, KubeObject } from '../../../shared/api/types.ts'
import type { ResourceDefinition } from '../../kind/resource-definition.ts'

const orphan = 'orphan'
const foreground = 'foregroundDeletion'

/** Deleting these kinds left their dependents in place before the API had policies. */
const orphanByDefault = new Set(['batch/jobs', '/replicationcontrollers'])
/** These kinds cannot have dependents, or upstream begins their deletion without asking for a policy. */
const withoutPolicy = new Set(['/events', 'events.k8s.io/events', 'apiextensions.k8s.io/customresourcedefinitions'])

/** Returns the finalizers of an object after the policy of its DELETE is applied; undefined for none. */
export function finalizersFor(
  definition: ResourceDefinition,
  { metadata }: KubeObject,
  options: DeleteOptions,
): string[] | undefined {
  const present = metadata.finalizers ?? []
  const resource = `${definition.group}/${definition.plural}`
  const policy = withoutPolicy.has(resource) ? 'Background' : policyOf(options, present, orphanByDefault.has(resource))
  const wanted = policy === 'Orphan' ? orphan : policy === 'Foreground' ? foreground : undefined
  const kept = present.filter((finalizer) => finalizer !== orphan && finalizer !== foreground)
  if (wanted) kept.push(wanted)
  if (kept.length === 0) return undefined
  const isSame = kept.length === present.length && kept.every((finalizer) => present.includes(finalizer))
  return isSame ? present : kept
}

function policyOf({ propagationPolicy, orphanDependents }: DeleteOptions, present: string[], orphans: boolean): string {
  if (propagationPolicy) return propagationPolicy
  if (orphanDependents !== undefined && orphanDependents !== null) return orphanDependents ? 'Orphan' : 'Background'
  if (present.includes(orphan)) return 'Orphan'
  if (present.includes(foreground)) return 'Foreground'
  return orphans ? 'Orphan' : 'Background'
}
