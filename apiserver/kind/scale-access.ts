import type { KubeObject } from '../../shared/api/types.ts'

/** Numbers and selector of a custom resource, read and written by the paths that its definition names. */
export interface ScaleAccess {
  specReplicas(object: KubeObject): number | undefined
  statusReplicas(object: KubeObject): number
  selector(object: KubeObject): string
  /** Says why the field is none that the subresource can read, as Go prints it; undefined if it is one or absent. */
  problem(object: KubeObject, field: 'spec' | 'status' | 'selector'): string | undefined
  setSpecReplicas(object: KubeObject, replicas: number): void
  /** Dotted as messages name it: `.spec.replicas`. */
  specReplicasPath: string
  statusReplicasPath: string
  /** Leads to the selector; absent if the subresource shows none. */
  selectorPath?: string
}
