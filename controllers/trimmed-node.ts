import type { Node, ObjectMeta } from '../shared/api/types.ts'
import type { Part } from './part.ts'
import { trimMetadata } from './trimmed-metadata.ts'

export type TrimmedNodeStatus = Part<NonNullable<Node['status']>, 'allocatable' | 'conditions', 'nodeInfo'>

/** What control loops read of a node. Thousands may be held: a loop that reads more adds the field here and below. */
export interface TrimmedNode {
  metadata: Omit<ObjectMeta, 'managedFields' | 'annotations'>
  spec?: Node['spec']
  status?: TrimmedNodeStatus
}

export function trimNode({ metadata, spec, status }: Node): TrimmedNode {
  return {
    metadata: trimMetadata(metadata),
    spec,
    status: { allocatable: status?.allocatable, conditions: status?.conditions },
  }
}
