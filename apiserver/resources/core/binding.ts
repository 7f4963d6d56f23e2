import type { Binding } from '../../../shared/api/types.ts'
import { type ResourceDefinition, resource } from '../../kind/resource-definition.ts'

/**
 * A scheduler creates a Binding to assign a pod to a node. The Binding itself is not stored; only the pod's node is.
 */
export const binding: ResourceDefinition = resource<Binding>({
  group: '',
  version: 'v1',
  kind: 'Binding',
  plural: 'bindings',
  singular: 'binding',
  namespaced: true,
  schema: 'io.k8s.api.core.v1.Binding',
  verbs: ['create'],
  virtual: true,
  strategy: {},
  example: {
    apiVersion: 'v1',
    kind: 'Binding',
    metadata: { name: 'web' },
    target: { kind: 'Node', name: 'node-1' },
  },
})
