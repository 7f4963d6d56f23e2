import { type LabelSelectorObject, selectsLabels } from '../../shared/api/selectors/label-selector.ts'
import type { ObjectMeta } from '../../shared/api/types.ts'
import type { Informer } from '../../shared/client/informer.ts'
import type { WorkQueue } from '../../shared/concurrency/work-queue.ts'
import { controllerOf } from '../informers/ownership.ts'
import type { TrimmedPod } from '../informers/trimmed-pod.ts'
import type { PodExpectations } from './pod-expectations.ts'

interface Owner {
  metadata: ObjectMeta
}

export interface PodOwnersOptions<T extends Owner> {
  /** Holds the owners; needs the index `namespace`. */
  owners: Informer<T>
  pods: Informer<TrimmedPod>
  kind: string
  selectorOf(owner: T): LabelSelectorObject | undefined
  expectations: PodExpectations
  /** Receives the keys of owners, `namespace/name`. */
  queue: Pick<WorkQueue<string>, 'add'>
  onDelete?(owner: T): void
}

/**
 * Queues an owner when the owner, one of its pods, or an orphan that it selects changes. Pods of other owners cost
 * almost nothing. Returns a function that queues an owner for any other reason.
 */
export function followPodOwners<T extends Owner>(options: PodOwnersOptions<T>): (owner: T) => void {
  const { owners, expectations, queue } = options
  const consider = (owner: T): void => queue.add(keyOf(owner))
  owners.addHandler({
    onAdd: consider,
    onUpdate: consider,
    onDelete(owner) {
      // At once: by the time of the next look there may be another of that name.
      expectations.forget(keyOf(owner))
      options.onDelete?.(owner)
      consider(owner)
    },
  })
  followPods(options, (owner, pod) => {
    expectations.observe(keyOf(owner), pod)
    consider(owner)
  })
  return consider
}

const keyOf = ({ metadata }: Owner): string => `${metadata.namespace}/${metadata.name}`

function followPods<T extends Owner>(
  { owners, pods, kind, selectorOf }: PodOwnersOptions<T>,
  tellOf: (owner: T, pod: TrimmedPod) => void,
): void {
  const tellOwner = (pod: TrimmedPod, reference = controllerOf(pod.metadata)): void => {
    if (reference?.kind !== kind) return
    const owner = owners.get({ namespace: pod.metadata.namespace, name: reference.name })
    if (owner?.metadata.uid === reference.uid) tellOf(owner, pod)
  }
  const tellSuitors = (pod: TrimmedPod): void => {
    for (const owner of owners.byIndex('namespace', pod.metadata.namespace ?? '')) {
      if (selectsLabels(selectorOf(owner), pod.metadata.labels)) tellOf(owner, pod)
    }
  }
  const tell = (pod: TrimmedPod): void => {
    if (controllerOf(pod.metadata)) tellOwner(pod)
    else if (!pod.metadata.deletionTimestamp) tellSuitors(pod)
  }
  pods.addHandler({
    onAdd: tell,
    onUpdate(pod, old) {
      const [now, before] = [controllerOf(pod.metadata), controllerOf(old.metadata)]
      if (before && before.uid !== now?.uid) tellOwner(pod, before)
      if (now) tellOwner(pod)
      // An orphan matters only when its labels, or its owner, change.
      else if (before || old.metadata.labels !== pod.metadata.labels) tell(pod)
    },
    onDelete: (pod) => tellOwner(pod),
  })
}
