/** An object of the cluster's own that every server makes when it starts. */
export interface SystemObject {
  group: string
  version: string
  plural: string
  name: string
  /** Owns its fields; absent: kube-apiserver does. */
  manager?: string
  /** Holds all fields but the metadata. */
  body: Record<string, unknown>
  labels?: Record<string, string>
  annotations?: Record<string, string>
  finalizers?: string[]
}
