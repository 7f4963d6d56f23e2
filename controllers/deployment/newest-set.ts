import type { Deployment, ReplicaSet } from '../../shared/api/workloads/workloads.ts'
import { controllerReference, type OwnerKind } from '../informers/ownership.ts'
import { HASH_LABEL, isSameTemplate, templateHash } from '../workloads/templates.ts'
import { newestAnnotations, sizeAnnotations } from './revisions.ts'
import { maxSurge, newSetSize, oldestFirst, sizeOf } from './sizes.ts'

/** The oldest set of the present template, should there be several. */
export const findNewest = (deployment: Deployment, sets: readonly ReplicaSet[]): ReplicaSet | undefined =>
  oldestFirst(sets).find(({ spec }) => isSameTemplate(spec.template, deployment.spec.template))

/** The set of the present template, to be made. Upstream: getNewReplicaSet in pkg/controller/deployment/sync.go. */
export function newestSet(
  deployment: Deployment,
  { old, revision, kind }: { old: readonly ReplicaSet[]; revision: bigint; kind: OwnerKind },
): ReplicaSet {
  const { metadata, spec, status } = deployment
  const hash = { [HASH_LABEL]: templateHash(spec.template, status?.collisionCount) }
  const template = structuredClone(spec.template)
  template.metadata = { ...template.metadata, labels: { ...template.metadata?.labels, ...hash } }
  const name = `${metadata.name}-${hash[HASH_LABEL]}`
  const set: ReplicaSet = {
    metadata: {
      name,
      namespace: metadata.namespace,
      labels: template.metadata.labels,
      ownerReferences: [controllerReference(kind, metadata)],
    },
    spec: {
      replicas: newSetSize(deployment, old, 0),
      minReadySeconds: spec.minReadySeconds,
      selector: { ...spec.selector, matchLabels: { ...spec.selector.matchLabels, ...hash } },
      template,
    },
  }
  const wanted = sizeOf(deployment)
  set.metadata.annotations = {
    ...newestAnnotations(deployment, set, revision),
    ...sizeAnnotations(wanted, wanted + maxSurge(deployment)),
  }
  return set
}
