import type { ObjectMeta } from '../shared/api/types.ts'

/** Without what is large and read by no control loop. */
export function trimMetadata(metadata: ObjectMeta): ObjectMeta {
  const { managedFields: _managedFields, annotations: _annotations, ...kept } = metadata
  return kept
}
