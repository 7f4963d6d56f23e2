import type { Access } from '../../auth/access.ts'
import type { Lookup } from '../../kind/lookup.ts'
import type { AdmissionAttributes } from '../../registry/admission-plugin.ts'

/** Describes a write request of a node's kubelet. */
export interface NodeWrite extends AdmissionAttributes {
  nodeName: string
  lookup: Lookup
  access: Access
}
/** Says why the write is forbidden; undefined allows it. Throws a StatusError for other refusals. */
export type NodeRule = (write: NodeWrite) => string | undefined | Promise<string | undefined>
