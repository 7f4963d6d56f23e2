import type { KubeObject } from '../../shared/api/types.ts'

/** Numbers and selector of a custom resource, read and written by the paths that its definition names. */
export interface ScaleAccess {
  specReplicas(object: KubeObject): number | undefined
  statusReplicas(object: KubeObject): number
  selector(object: KubeObject): string
  setSpecReplicas(object: KubeObject, replicas: number): void
  /** Dotted as messages name it: `.spec.replicas`. */
  specReplicasPath: string
  statusReplicasPath: string
}
