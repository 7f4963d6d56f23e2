import { ignoreNotFound } from '../../shared/api/status-error.ts'
import type { Pod } from '../../shared/api/types.ts'
import type { PersistentVolume } from '../../shared/api/volumes.ts'
import type { Client, ObjectRef } from '../../shared/client/client.ts'
import { persistentVolumes, pods } from '../../shared/client/resources.ts'

/** What the node authorizer must know of the pods that are bound to a node. */
export interface NodePods {
  /** `undefined` when there is no such pod, or it is bound to no node yet. */
  nodeOf(pod: ObjectRef): string | undefined
  onNode(nodeName: string, namespace: string): Promise<Pod[]>
  /** The claim that a volume is bound to. */
  claimOf(volume: string): Promise<ObjectRef | undefined>
}

/** Asks the API itself, so that what is decided is never older than what is stored. `field` gives a selectable field of a pod that is there. */
export function nodePodsFrom(client: Client, field: (pod: ObjectRef, name: string) => string | undefined): NodePods {
  return {
    nodeOf: (ref) => field(ref, 'spec.nodeName') || undefined,
    async onNode(nodeName, namespace) {
      const { items } = await client.list<Pod>(pods, { namespace, fieldSelector: `spec.nodeName=${nodeName}` })
      return items
    },
    async claimOf(name) {
      const volume = await client.get<PersistentVolume>(persistentVolumes, { name }).catch(ignoreNotFound)
      const { namespace, name: claim } = volume?.spec?.claimRef ?? {}
      return claim === undefined ? undefined : { namespace, name: claim }
    },
  }
}
