import type { KubeObject } from '../../../shared/api/types.ts'
import type { Transform } from './negotiation.ts'

/** An object of which only the metadata is wanted. */
export const partialObjectMetadata = ({ metadata }: KubeObject, version: Transform['version']): KubeObject => ({
  kind: 'PartialObjectMetadata',
  apiVersion: `meta.k8s.io/${version}`,
  metadata,
})
