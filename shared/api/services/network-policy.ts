import type { V1NetworkPolicySpec } from '@kubernetes/client-node'
import type { ObjectMeta, Wire } from '../types.ts'

type Generated = Wire<V1NetworkPolicySpec>
type Rule = NonNullable<Generated['egress']>[number]

export type PolicyPort = NonNullable<Rule['ports']>[number]
export type PolicyPeer = NonNullable<Rule['to']>[number]
/** The generated type calls `from` otherwise. */
export type NetworkPolicySpec = Omit<Generated, 'ingress'> & {
  ingress?: { ports?: PolicyPort[]; from?: PolicyPeer[] }[]
}

export interface NetworkPolicy {
  metadata: ObjectMeta
  spec?: NetworkPolicySpec
}
