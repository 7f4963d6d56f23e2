import type { ObjectMeta } from '../../shared/api/types.ts'

/** Removes the large fields that no control loop reads. */
export function trimMetadata(metadata: ObjectMeta): ObjectMeta {
  const { managedFields: _managedFields, annotations: _annotations, ...kept } = metadata
  return kept
}
