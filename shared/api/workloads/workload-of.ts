import type { Pod } from '../types.ts'

/** `Deployment/web`, `StatefulSet/db`, …; a ReplicaSet that is named by its template's hash is a Deployment's. */
export function workloadOf({
  metadata: { ownerReferences = [], labels = {} },
}: Pick<Pod, 'metadata'>): string | undefined {
  const owner = ownerReferences.find(({ controller }) => controller)
  if (!owner) return undefined
  const hash = labels['pod-template-hash']
  const isOfDeployment = owner.kind === 'ReplicaSet' && hash !== undefined && owner.name.endsWith(`-${hash}`)
  return isOfDeployment ? `Deployment/${owner.name.slice(0, -hash.length - 1)}` : `${owner.kind}/${owner.name}`
}
