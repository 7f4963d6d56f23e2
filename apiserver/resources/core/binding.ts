import type { Binding } from '../../../shared/api/types.ts'
import { type ResourceDefinition, resource } from '../../kind/resource-definition.ts'

/**
 * A scheduler creates a Binding to assign a pod to a node. The Binding itself is not stored; only the pod's node is.
 */
export const binding: ResourceDefinition = resource<Binding>({
  group: '',
  kind: 'Binding',
  plural: 'bindings',
  namespaced: true,
  verbs: ['create'],
  virtual: true,
  example: {
    metadata: { name: 'web' },
    target: { kind: 'Node', name: 'node-1' },
  },
})
