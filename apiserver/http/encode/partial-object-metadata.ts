import type { KubeObject } from '../../../shared/api/types.ts'
import type { ResourceDefinition } from '../../kind/resource-definition.ts'
import type { Transform } from './negotiation.ts'

/** An object of which only the metadata is wanted. */
export const partialObjectMetadata = (
  { metadata }: KubeObject,
  version: Transform['version'],
  { fieldAnnotation }: Pick<ResourceDefinition, 'fieldAnnotation'> = {},
): KubeObject => ({
  kind: 'PartialObjectMetadata',
  apiVersion: `meta.k8s.io/${version}`,
  metadata: fieldAnnotation ? without(metadata, fieldAnnotation) : metadata,
})

function without(metadata: KubeObject['metadata'], name: string): KubeObject['metadata'] {
  const { annotations, ...others } = metadata
  const { [name]: _, ...left } = annotations ?? {}
  return Object.keys(left).length > 0 ? { ...metadata, annotations: left } : others
}
