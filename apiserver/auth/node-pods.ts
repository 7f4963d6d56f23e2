import { isStatus } from '../../shared/api/status-error.ts'
import type { Pod } from '../../shared/api/types.ts'
import type { Client, ObjectRef } from '../../shared/client/client.ts'
import { pods } from '../../shared/client/resources.ts'

/** What the node authorizer must know of the pods that are bound to a node. */
export interface NodePods {
  /** `undefined` when there is no such pod, or it is bound to no node yet. */
  nodeOf(pod: ObjectRef): Promise<string | undefined>
  onNode(nodeName: string, namespace: string): Promise<Pod[]>
}

/** Asks the API itself, so that what is decided is never older than what is stored. */
export function nodePodsFrom(client: Client): NodePods {
  return {
    async nodeOf(ref) {
      try {
        return (await client.get<Pod>(pods, ref)).spec.nodeName
      } catch (error) {
        if (isStatus(error, 'NotFound')) return undefined
        throw error
      }
    },
    async onNode(nodeName, namespace) {
      const { items } = await client.list<Pod>(pods, { namespace, fieldSelector: `spec.nodeName=${nodeName}` })
      return items
    },
  }
}
