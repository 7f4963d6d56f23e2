import { fromSelectorObject, type LabelSelectorObject, matchesLabels } from '../../shared/api/label-selector.ts'
import type { ObjectMeta, Pod } from '../../shared/api/types.ts'
import type { Informer } from '../../shared/client/informer.ts'
import { controllerOf } from './ownership.ts'

interface Owner {
  metadata: ObjectMeta
}

export interface PodOwnersOptions<T extends Owner> {
  /** With the index `namespace`. */
  owners: Informer<T>
  pods: Informer<Pod>
  kind: string
  selectorOf(owner: T): LabelSelectorObject | undefined
  /** Something happened to a pod of the owner, or to an orphan that it may want. */
  consider(owner: T, pod: Pod): void
}

/** Tells owners of news of their pods; of news of an orphan, all that select it. Pods of others cost next to nothing. */
export function followPods<T extends Owner>({ owners, pods, kind, selectorOf, consider }: PodOwnersOptions<T>): void {
  const tellOwner = (pod: Pod, reference = controllerOf(pod.metadata)): void => {
    if (reference?.kind !== kind) return
    const owner = owners.get({ namespace: pod.metadata.namespace, name: reference.name })
    if (owner?.metadata.uid === reference.uid) consider(owner, pod)
  }
  const tellSuitors = (pod: Pod): void => {
    for (const owner of owners.byIndex('namespace', pod.metadata.namespace ?? '')) {
      const selector = fromSelectorObject(selectorOf(owner))
      if (selector && matchesLabels(selector, pod.metadata.labels)) consider(owner, pod)
    }
  }
  const tell = (pod: Pod): void => {
    if (controllerOf(pod.metadata)) tellOwner(pod)
    else if (!pod.metadata.deletionTimestamp) tellSuitors(pod)
  }
  pods.addHandler({
    onAdd: tell,
    onUpdate(pod, old) {
      const [now, before] = [controllerOf(pod.metadata), controllerOf(old.metadata)]
      if (before && before.uid !== now?.uid) tellOwner(pod, before)
      if (now) tellOwner(pod)
      // Of orphans only a change of labels, or of ownership, makes a difference.
      else if (before || old.metadata.labels !== pod.metadata.labels) tell(pod)
    },
    onDelete: (pod) => tellOwner(pod),
  })
}
