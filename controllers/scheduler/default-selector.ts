import { fromSelectorObject, type LabelSelector, matchesLabels } from '../../shared/api/selectors/label-selector.ts'
import type { Service } from '../../shared/api/types.ts'
import type { ReplicaSet, ReplicationController, StatefulSet } from '../../shared/api/workloads/workloads.ts'
import type { Informer } from '../../shared/client/informer.ts'
import { replicaSets, replicationControllers, services, statefulSets } from '../../shared/client/resources.ts'
import type { Informers } from '../informers/informers.ts'
import type { TrimmedPod } from '../informers/trimmed-pod.ts'

/** Finds the pods that are spread with a pod without constraints of its own. Upstream: plugins/helper/spread.go. */
export class DefaultSelectors {
  readonly #services: Informer<Service>
  readonly #controllers: Informer<ReplicationController>
  readonly #replicaSets: Informer<ReplicaSet>
  readonly #statefulSets: Informer<StatefulSet>

  constructor(informers: Pick<Informers, 'whole'>) {
    this.#services = informers.whole(services)
    this.#controllers = informers.whole(replicationControllers)
    this.#replicaSets = informers.whole(replicaSets)
    this.#statefulSets = informers.whole(statefulSets)
  }

  async synced(): Promise<void> {
    await Promise.all(
      [this.#services, this.#controllers, this.#replicaSets, this.#statefulSets].map((one) => one.synced()),
    )
  }

  /** Joins the selectors of the pod's services and of its owner. An empty selector means that it is not spread. */
  of({ metadata }: TrimmedPod): LabelSelector {
    const { namespace = '', labels } = metadata
    const merged: Record<string, string> = {}
    for (const { spec } of this.#services.byIndex('namespace', namespace))
      if (spec?.selector && matchesLabels(exactly(spec.selector), labels)) Object.assign(merged, spec.selector)
    const owner = metadata.ownerReferences?.find(({ controller }) => controller)
    const key = { namespace, name: owner?.name ?? '' }
    switch (owner && `${owner.apiVersion} ${owner.kind}`) {
      case 'v1 ReplicationController':
        return exactly({ ...merged, ...this.#controllers.get(key)?.spec?.selector })
      case 'apps/v1 ReplicaSet':
        return [...exactly(merged), ...(fromSelectorObject(this.#replicaSets.get(key)?.spec?.selector) ?? [])]
      case 'apps/v1 StatefulSet':
        return [...exactly(merged), ...(fromSelectorObject(this.#statefulSets.get(key)?.spec?.selector) ?? [])]
      default:
        return exactly(merged)
    }
  }
}

const exactly = (labels: Record<string, string>): LabelSelector =>
  Object.entries(labels).map(([key, value]) => ({ key, operator: 'in', values: [value] }))
