import type { LabelSelectorObject } from '../../shared/api/selectors/label-selector.ts'
import type { ReplicaSet } from '../../shared/api/workloads/workloads.ts'
import type { Resource } from '../../shared/client/client.ts'
import { replicaSets, replicationControllers } from '../../shared/client/resources.ts'
import type { OwnerKind } from '../informers/ownership.ts'

/** Holds the differences between the two kinds that one loop handles, as upstream's does. */
export interface Flavor extends OwnerKind {
  kind: 'ReplicaSet' | 'ReplicationController'
  resource: Resource
  /** Names the source component of the loop's events. */
  component: string
  selectorOf(set: ReplicaSet): LabelSelectorObject | undefined
}

export const replicaSetFlavor: Flavor = {
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  resource: replicaSets,
  component: 'replicaset-controller',
  selectorOf: ({ spec }) => spec.selector,
}

export const replicationControllerFlavor: Flavor = {
  apiVersion: 'v1',
  kind: 'ReplicationController',
  resource: replicationControllers,
  component: 'replication-controller',
  // Its selector is a map of labels.
  selectorOf: ({ spec }) => ({ matchLabels: spec.selector as Record<string, string> }),
}
