import type { KubeObject } from '../../../shared/api/types.ts'

/** Removes duplicate owners, with a warning. Upstream: dedupOwnerReferencesAndAddWarning. */
export function dedupOwners({ metadata }: KubeObject, warn: (text: string) => void, when = ''): void {
  const { ownerReferences = [] } = metadata
  if (ownerReferences.length < 2) return
  const seen = new Set<string>()
  const isFirst = ownerReferences.map((owner) => {
    const { apiVersion, kind, name, uid, controller, blockOwnerDeletion } = owner
    const before = seen.size
    return seen.add(JSON.stringify([apiVersion, kind, name, uid, controller, blockOwnerDeletion])).size > before
  })
  const duplicates = ownerReferences.filter((_, index) => !isFirst[index])
  if (duplicates.length === 0) return
  metadata.ownerReferences = ownerReferences.filter((_, index) => isFirst[index])
  const uids = duplicates.map(({ uid }) => uid).join(', ')
  warn(
    `.metadata.ownerReferences contains duplicate entries${when}; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${uids}`,
  )
}
export const afterAdmission = ' after mutating admission happens'
