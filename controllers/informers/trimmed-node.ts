import type { Node, ObjectMeta } from '../../shared/api/types.ts'
import type { Trimmed } from './trimmed.ts'
import { trimMetadata } from './trimmed-metadata.ts'

export type TrimmedNodeStatus = Trimmed<
  NonNullable<Node['status']>,
  'allocatable' | 'conditions' | 'images',
  'nodeInfo'
>

/**
 * Holds the fields of a node that control loops read. Thousands may be in memory: a loop that reads another field adds
 * it here and below.
 */
export interface TrimmedNode {
  metadata: Omit<ObjectMeta, 'managedFields' | 'annotations'>
  spec?: Node['spec']
  status?: TrimmedNodeStatus
}

export function trimNode({ metadata, spec, status }: Node): TrimmedNode {
  return {
    metadata: trimMetadata(metadata),
    spec,
    status: {
      allocatable: status?.allocatable,
      conditions: status?.conditions,
      ...(status?.images && { images: status.images }),
    },
  }
}
